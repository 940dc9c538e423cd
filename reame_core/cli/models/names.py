"""The catalogue as a command sees it: by its settings, with the plugins' models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.cli.options import plugin_selection
from reame_core.models.catalogue import open_catalogue

if TYPE_CHECKING:
    from reame_core.config import Settings
    from reame_core.models.catalogue import Catalogue


def catalogue_of(settings: Settings) -> Catalogue:
    """Plugins are loaded only when nobody else knows a name."""

    def ask_plugins() -> list[tuple[str, object]]:
        from reame_core.plugins.manager import PluginManager

        return PluginManager(plugin_selection(settings)).hook("register_models").answers()

    return open_catalogue(settings.values.model, ask_plugins)
