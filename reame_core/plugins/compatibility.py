"""Whether a plugin is made for this Reame: what it states is compared with what there is.

A distribution states it by its dependency on ``reame``, any plugin by an attribute ``reame_api``. pip looks at
the dependency when it installs, but nobody does when Reame is upgraded later, or where the plugin was installed
without its dependencies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

from reame_core.hookspecs import API_VERSION, OLDEST_API_VERSION

ATTRIBUTE = "reame_api"
DISTRIBUTION = "reame"

_OURS = re.compile(rf"{DISTRIBUTION}\s*(?:\[[^]]*\])?\s*\(?((?:[<>=!~][^;()]*)?)\)?\s*(;.*)?", re.IGNORECASE)
_VERSION = re.compile(r"\d+\.\d+")


@cache
def reame_version() -> str:
    """Of the Reame that runs."""
    return version(DISTRIBUTION)


def stated_requirement(requirements: Sequence[str] | None) -> str:
    """Which versions of Reame a distribution with these ``requirements`` wants, such as ``>=0.1,<0.3``; empty
    where it does not say. What only an extra of the distribution wants does not count."""
    for text in requirements or ():
        found = _OURS.fullmatch(text.strip())
        if found is not None and not (found[2] and "extra" in found[2]):
            return found[1].strip()
    return ""


def unfit_requirement(origin: str, requirement: str) -> str:
    """Why a distribution with this stated ``requirement`` cannot be used with this Reame; empty where it
    can."""
    if not requirement:
        return ""
    # Not at the top: many commands load no plugin.
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        wanted = SpecifierSet(requirement)
    except InvalidSpecifier:
        return f"{origin} depends on {DISTRIBUTION} {requirement!r}, which is no range of versions"
    if wanted.contains(reame_version(), prereleases=True):
        return ""
    return (
        f"{origin} is made for {DISTRIBUTION}{requirement} and this is Reame {reame_version()}: install a "
        "version of it that is made for this one, or the Reame that it wants"
    )


def stated_api(plugin: object) -> object:
    """The API version that the plugin says it was written for; None where it does not say."""
    return getattr(plugin, ATTRIBUTE, None)


def unfit_api(stated: object) -> str:
    """Why a plugin written for the API version ``stated`` cannot be used; empty where it can, and for None."""
    if stated is None:
        return ""
    if not isinstance(stated, str) or not _VERSION.fullmatch(stated):
        return f"{ATTRIBUTE} must be the version of the plugin API as a text, such as {API_VERSION!r}"
    if _key(stated) > _key(API_VERSION):
        return (
            f"it is written for the plugin API {stated} and this Reame has {API_VERSION}: upgrade Reame, or "
            "use an older version of the plugin"
        )
    if _key(stated) < _key(OLDEST_API_VERSION):
        return (
            f"it is written for the plugin API {stated} and this Reame has {API_VERSION}, which goes back to "
            f"{OLDEST_API_VERSION}: use a newer version of the plugin"
        )
    return ""


def _key(api: str) -> tuple[int, ...]:
    return tuple(map(int, api.split(".")))
