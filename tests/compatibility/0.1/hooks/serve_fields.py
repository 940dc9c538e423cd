from reame_core.errors import InvalidRequest
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import FieldService

NAME = "reame.shout"


class Capitals:
    """`"reame": {"shout": true}` gives the answer in capitals."""

    def __init__(self, prompt):
        pass

    def push(self, text):
        return [text.upper()]

    def end(self):
        return []


@hookimpl
def serve_fields(request):
    wanted = request.fields.get(NAME)
    if wanted is None:
        return None
    if not isinstance(wanted, bool):
        raise InvalidRequest(f"{NAME} must be true or false", param=NAME)
    return FieldService(fields=frozenset({NAME}), parser=Capitals if wanted else None)
