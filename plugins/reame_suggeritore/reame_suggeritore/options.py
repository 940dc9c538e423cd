"""The table ``[plugins.suggeritore]``."""

from __future__ import annotations

from msgspec import Struct


class SuggeritoreOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """See docs/suggeritore.md."""

    proposals: bool = True
    """Whether the form of a text proposes tokens."""
    templates: bool = True
    """Whether forms that a prompt shows do."""
