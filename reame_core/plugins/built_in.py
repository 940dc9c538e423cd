"""What is part of Reame and yet a plugin, so that others can stand before it."""

from __future__ import annotations

from reame_core.engine.verification import CoreVerifier

BUILT_IN_PLUGINS: tuple[tuple[str, object], ...] = (("core", CoreVerifier()),)
"""(name, plugin), for ``PluginManager(builtins=...)``."""
