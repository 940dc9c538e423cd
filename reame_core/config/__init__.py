"""Settings: what they are, where they come from, where files live.

``load_settings`` reads flags, environment and ``reame.toml``; docs/configuration.md is the reference.
"""

from reame_core.config.directories import Directories, directories
from reame_core.config.layer import Origin
from reame_core.config.schema import (
    Config,
    EngineSettings,
    ModelSettings,
    PluginSettings,
    SamplingSettings,
    ServerSettings,
)
from reame_core.config.settings import Flag, Settings, Shown, load_settings

__all__ = [
    "Config",
    "Directories",
    "EngineSettings",
    "Flag",
    "ModelSettings",
    "Origin",
    "PluginSettings",
    "SamplingSettings",
    "ServerSettings",
    "Settings",
    "Shown",
    "directories",
    "load_settings",
]
