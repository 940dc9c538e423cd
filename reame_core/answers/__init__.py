"""For plugins that keep whole answers: what decides one, and how it is written down."""

from reame_core.answers.material import decisive, material_of, scope_of, written
from reame_core.answers.record import Record, answer_of, decode, encode

__all__ = ["Record", "answer_of", "decisive", "decode", "encode", "material_of", "scope_of", "written"]
