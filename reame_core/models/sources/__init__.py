"""Where models come from, as one word of text::

hf:ORG/REPO[@REVISION][:FILE]     a repository of the hub; FILE may also be a quantisation, such as Q8_0
https://HOST/…/NAME.gguf          any web server
package:MODULE:PATTERN            a file in an installed Python package
/path/to/NAME.gguf                a file of this machine
"""

from reame_core.models.sources.local import LocalSource
from reame_core.models.sources.package import PackageSource
from reame_core.models.sources.parse import is_reference, parse_source
from reame_core.models.sources.source import RemoteModel, RemoteSource, Source

__all__ = [
    "LocalSource",
    "PackageSource",
    "RemoteModel",
    "RemoteSource",
    "Source",
    "is_reference",
    "parse_source",
]
