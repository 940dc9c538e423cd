"""New plugins from templates: ``reame new-plugin``."""

from reame_core.scaffold.kinds import KINDS, Kind
from reame_core.scaffold.writing import PluginName, write_plugin

__all__ = ["KINDS", "Kind", "PluginName", "write_plugin"]
