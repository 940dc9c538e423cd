from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import KnownAnswer

known = {}  # the last answers, in memory


def key_of(question):
    """None for answers that depend on chance or on other plugins."""
    request = question.request
    if request.sampling.temperature > 0 or question.fields:
        return None
    asked = (request.tenant, request.prompt, question.room, request.n, request.logprobs, question.exact)
    return (*asked, repr(request.sampling), request.stop, request.stop_tokens, request.ignore_end)


@hookimpl
def recall_answer(question):
    choices = known.get(key_of(question))
    return None if choices is None else KnownAnswer(choices, note={"remembered": True})


@hookimpl
def keep_answer(question, answer):
    if answer is not None and (key := key_of(question)) is not None:
        known[key] = answer
