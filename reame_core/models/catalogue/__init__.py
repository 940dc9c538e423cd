"""The catalogue: models by name, and what is known of them."""

from reame_core.models.catalogue.catalogue import Catalogue, models_folder, open_catalogue
from reame_core.models.catalogue.entry import Entry, Facts, check_name, read_entry
from reame_core.models.catalogue.resolve import ModelNotHere, ResolvedModel, find_entry, resolve

__all__ = [
    "Catalogue",
    "Entry",
    "Facts",
    "ModelNotHere",
    "ResolvedModel",
    "check_name",
    "find_entry",
    "models_folder",
    "open_catalogue",
    "read_entry",
    "resolve",
]
