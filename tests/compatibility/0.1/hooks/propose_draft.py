from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import Draft

WINDOW = 3


@hookimpl
def propose_draft(sequence, limit):
    """What followed the last time that the newest three tokens came in a row."""
    tokens = sequence.tokens.tolist()
    newest = tokens[-WINDOW:]
    for start in range(len(tokens) - WINDOW - 1, -1, -1):
        if tokens[start : start + WINDOW] == newest:
            return Draft(tokens[start + WINDOW : start + WINDOW + limit])
    return None
