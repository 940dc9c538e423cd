"""Il Suggeritore: the form of a text proposes its next tokens."""

from reame_suggeritore.plugin import Suggeritore

plugin = Suggeritore()

__all__ = ["Suggeritore", "plugin"]
