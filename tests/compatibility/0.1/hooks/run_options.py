from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import FieldService, RunOption

FIELD = "reame.closing"


@hookimpl
def run_options():
    """`reame run MODEL "Name a fish." --closing "Best regards"`"""
    return [RunOption("--closing", FIELD, None, "TEXT", "Say this at the end.")]


@hookimpl
def serve_fields(request):
    if FIELD not in request.fields:
        return None
    return FieldService(fields=frozenset({FIELD}), notes=lambda: [str(request.fields[FIELD])])
