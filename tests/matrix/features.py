"""The features of the matrix: each a small class that says what it changes and how it gets to work."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from reame_arca.options import Options as ArcaOptions
from reame_arca.plugin import Arca
from reame_arca.service import Service as ArcaService
from reame_conclave.plugin import ConclavePlugin
from reame_diskkv.plugin import DiskKV
from reame_draftmodel.plugin import DraftModelPlugin
from reame_memo.plugin import Memo as MemoPlugin
from reame_palimpsest.archive_plugin import ArchivePlugin
from reame_palimpsest.lookup_plugin import LookupPlugin
from reame_suggeritore.plugin import Suggeritore as SuggeritorePlugin

from plugins.reame_arca.tests.fake_store import FakeClient, fake_store
from plugins.reame_conclave.tests.support import contested
from plugins.reame_diskkv.tests.driver import AlwaysCheap
from reame_core.engine.request import Request, SamplingParams
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import ApiRequest, PluginContext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.engine.support import Answers
    from tests.matrix.world import Setup, World


class Feature:
    """One feature of the matrix. Every method may be left as it is."""

    name: str
    does: str
    """For the table in the docs."""
    excludes: frozenset[str] = frozenset()
    """Features that are the same thing in another state, or that are refused together."""
    last = False
    """Ask after the others: what this one asks for depends on the answer."""

    def prepare(self, setup: Setup) -> None:
        """Before anything is built."""

    def started(self, world: World) -> None:
        """Plugins have been started, for the first time or again."""

    def ask(self, request: Request, world: World) -> Request:
        """What is asked for in the end."""
        return request

    def teach(self, world: World) -> None:
        """Earlier requests."""

    def flush(self, world: World) -> None:
        """What was computed reaches its store."""

    def interrupt(self, world: World) -> None:
        """What happens between earlier requests and the measured ones."""

    def remind(self, world: World) -> None:
        """Requests after that."""

    def disturb(self, world: World) -> None:
        """While the measured requests are under way."""

    def check(self, world: World) -> None:
        """At the end."""

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        """Whether it had any effect where it was alone: a feature that sleeps composes with everything."""
        raise NotImplementedError


def reused(answers: Sequence[Answers], source: str) -> int:
    return sum(answer.usage.reused.get(source, 0) for each in answers for answer in each)


def drafted(answers: Sequence[Answers], *sources: str) -> int:
    return sum(
        answer.usage.drafts.get(source, (0, 0))[1] for each in answers for answer in each for source in sources
    )


class RamReuse(Feature):
    name = "RAM reuse"
    does = "an earlier request's cells are still in memory"

    def prepare(self, setup: Setup) -> None:
        setup.residents = 32

    def remind(self, world: World) -> None:
        world.play(replace(world.ground.request(7), max_tokens=4))

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return reused(answers, "ram") > 30


class _Disk(Feature):
    """The plugin ``diskkv`` on a folder."""

    def prepare(self, setup: Setup) -> None:
        setup.plugins["diskkv"] = lambda world: (
            DiskKV(),
            {"folder": str(world.folder / "kv"), "block_tokens": 16, "min_tokens": 4},
        )

    def started(self, world: World) -> None:
        world.started["diskkv"].service.cache.prices = AlwaysCheap()

    def flush(self, world: World) -> None:
        assert world.started["diskkv"].service.cache.writer.flush(60)

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return reused(answers, "diskkv") > 30


class DiskCold(_Disk):
    name = "disk cache, cold"
    does = "nothing is on disk yet"
    excludes = frozenset({"disk cache, warm", "disk cache, after a restart"})

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        self.flush(world)
        return any((world.folder / "kv" / "blocks").glob("*/*.kv"))


class DiskWarm(_Disk):
    name = "disk cache, warm"
    does = "the prompt is on disk, and no more in memory"
    excludes = frozenset({"disk cache, cold", "disk cache, after a restart"})

    def teach(self, world: World) -> None:
        world.play(*world.requests())

    def interrupt(self, world: World) -> None:
        world.forget()


class DiskRestarted(DiskWarm):
    name = "disk cache, after a restart"
    does = "as warm, and everything was shut down and started again"
    excludes = frozenset({"disk cache, cold", "disk cache, warm"})

    def interrupt(self, world: World) -> None:
        world.restart()


class Palimpsest(Feature):
    name = "Palimpsest"
    does = "the archive and prompt lookup draft what was said before"

    def prepare(self, setup: Setup) -> None:
        setup.plugins["palimpsest"] = lambda world: (ArchivePlugin(), {"folder": str(world.folder / "archive")})
        setup.plugins["prompt-lookup"] = lambda world: (LookupPlugin(), {})

    def teach(self, world: World) -> None:
        world.play(*world.requests())

    def flush(self, world: World) -> None:
        assert world.started["palimpsest"]._service.archive.flush()

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return drafted(answers, "palimpsest") > 10


class SharedAnswers(Feature):
    name = "shared memory: exact answers"
    does = "another server has answered the same, except where votes are counted"

    def __init__(self) -> None:
        self._shared = FakeClient()

    def prepare(self, setup: Setup) -> None:
        setup.plugins["arca"] = lambda world: (_ArcaOn(self._shared), {})

    def teach(self, world: World) -> None:
        world.play(*world.requests())

    def flush(self, world: World) -> None:
        assert world.started["arca"].service.store.flush(60)

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return reused(answers, "arca") > 30


class _ArcaOn(Arca):
    """The plugin on a store in memory."""

    def __init__(self, shared: FakeClient) -> None:
        super().__init__()
        self._shared = shared

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        options = ArcaOptions(
            url="redis://fake", answers_seeded=True, answers_wait_s=1, blocks=False, generations=False
        )
        self.service = ArcaService(options, context, fake_store(self._shared))


class Memo(Feature):
    name = "known answers"
    does = "the same was answered before and is on disk, except where votes are counted"

    def prepare(self, setup: Setup) -> None:
        setup.plugins["memo"] = lambda world: (
            MemoPlugin(),
            {"folder": str(world.folder / "memo"), "seeded": True, "wait_s": 0},
        )

    def teach(self, world: World) -> None:
        world.play(*world.requests())

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return reused(answers, "memo") > 30


class DraftModel(Feature):
    name = "draft model"
    does = "a second model drafts, right four times out of five"

    def prepare(self, setup: Setup) -> None:
        setup.plugins["draftmodel"] = lambda world: (
            DraftModelPlugin(),
            {"model": "small", "p_min": 0.0, "max_draft": 4},
        )

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return drafted(answers, "draftmodel") > 5


class Suggeritore(Feature):
    name = "Suggeritore"
    does = "the form of a numbered list drafts what comes next"

    def prepare(self, setup: Setup) -> None:
        setup.lists = True
        _with_suggeritore(setup)

    def ask(self, request: Request, world: World) -> Request:
        return world.ground.for_a_list(request)

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return drafted(answers, "suggeritore") > 2


class StructuredOutput(Feature):
    name = "structured output"
    does = "a JSON schema masks the logits, in plain decoding and inside drafts, and drafts what it forces"

    def prepare(self, setup: Setup) -> None:
        _with_suggeritore(setup)
        wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
        setup.fields["suggeritore"] = {"response_format": wanted}

    def ask(self, request: Request, world: World) -> Request:
        fields = world.setup.fields["suggeritore"]
        service = world.started["suggeritore"].serve_fields(ApiRequest("chat", fields, 1, False))
        extra = {**request.extra, "suggeritore": service.extra}
        return replace(request, constraint=service.constraint, extra=extra, max_tokens=60, ignore_end=False)

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return all(json.loads(answer.text) for each in answers for answer in each)


SCHEMA = {
    "type": "object",
    "properties": {"team": {"enum": ["sales", "workshop", "accounts"]}, "refund": {"type": "boolean"}},
    "required": ["team", "refund"],
    "additionalProperties": False,
}


def _with_suggeritore(setup: Setup) -> None:
    setup.plugins["suggeritore"] = lambda world: (SuggeritorePlugin(), {})


class Choices(Feature):
    name = "n"
    does = "three choices of one prompt"

    def ask(self, request: Request, world: World) -> Request:
        # Greedy choices are computed once: these are drawn.
        sampling = request.sampling if request.sampling.seed is not None else _drawn(seed=11)
        return replace(request, n=max(3, request.n), sampling=sampling)

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return all(len({answer.text for answer in each}) == 3 for each in answers)


class Conclave(Feature):
    name = "conclave"
    does = "five candidates vote; what cannot win any more is stopped"
    excludes = frozenset({"n"})  # refused with a 400

    def prepare(self, setup: Setup) -> None:
        setup.plugins["conclave"] = lambda world: (ConclavePlugin(), {})

    def ask(self, request: Request, world: World) -> Request:
        # Votes for one of five letters, so that some agree long before all have ended.
        return contested(request, n=5, pattern="[aeiou]")[0]

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return all(each.winner is not None for each in answers)


class FourUsers(Feature):
    name = "4 users"
    does = "four requests at the same time"

    def prepare(self, setup: Setup) -> None:
        setup.users = 4

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return len(answers) == 4


class StopStrings(Feature):
    name = "stop strings"
    does = "a text ends the answer, wherever it begins and ends within drafts"
    last = True

    def ask(self, request: Request, world: World) -> Request:
        text = world.plain(replace(request, stop=()))[0].text
        return replace(request, stop=(text[len(text) // 2 : len(text) // 2 + 2],))

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return all(each[0].reason == "stop" for each in answers)


class Logprobs(Feature):
    name = "logprobs"
    does = "log-probabilities of every token and of three alternatives"

    def ask(self, request: Request, world: World) -> Request:
        return replace(request, logprobs=3)

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return all(len(answer.logprobs) == len(answer.tokens) > 0 for each in answers for answer in each)


class Sampling(Feature):
    name = "sampling with a seed"
    does = "temperature, top-p and a penalty, the same seed"

    def ask(self, request: Request, world: World) -> Request:
        return replace(request, sampling=replace(_drawn(seed=5), repeat_penalty=1.2, top_p=0.95))

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return answers[0][0].text != world.plain(world.ground.request(0))[0].text


class Cancel(Feature):
    name = "cancel"
    does = "another request with the same prompt is cancelled on the way"

    def disturb(self, world: World) -> None:
        # Other room than anybody's: an answer that is known could not be cancelled.
        request = replace(world.requests()[0], max_tokens=59, stop=())
        self._victim = world.submit(request)
        for _ in range(3):
            world.engine.step()
        assert self._victim.group is not None
        world.engine.cancel(self._victim.group)

    def check(self, world: World) -> None:
        reasons = {answer.reason for answer in self._victim}
        assert "cancelled" in reasons, reasons

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return True  # checked each time


class TinyMemory(Feature):
    name = "tiny KV"
    does = "cells for one or two requests: the others wait, nothing stays"

    def prepare(self, setup: Setup) -> None:
        setup.cells = 200

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return world.backend.info.kv_cells == 200


class QuantisedMemory(Feature):
    name = "q8_0 KV"
    does = "cells of another type, beside a store that holds the usual ones of the same prompts"

    def prepare(self, setup: Setup) -> None:
        setup.kv_type = "q8_0"

    def teach(self, world: World) -> None:
        from tests.matrix.world import World as Other

        usual = [feature for feature in world.features if isinstance(feature, _Disk)]
        if usual:
            with Other(world.ground, world.folder, usual) as other:
                other.play(*(replace(other.ground.request(n), max_tokens=4) for n in range(world.setup.users)))
                other.flush()

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return world.setup.kv_type == "q8_0"


class ExactMode(Feature):
    name = "exact mode"
    does = "only certain numbers of rows, and cells in the order of their positions"

    def prepare(self, setup: Setup) -> None:
        setup.exact = True

    def took_part(self, world: World, answers: Sequence[Answers]) -> bool:
        return world.engine.options.exact is not None


def _drawn(seed: int) -> SamplingParams:
    return SamplingParams(temperature=0.9, seed=seed)


FEATURES: tuple[type[Feature], ...] = (
    RamReuse,
    DiskCold,
    DiskWarm,
    DiskRestarted,
    Palimpsest,
    SharedAnswers,
    Memo,
    DraftModel,
    Suggeritore,
    StructuredOutput,
    Choices,
    Conclave,
    FourUsers,
    StopStrings,
    Logprobs,
    Sampling,
    Cancel,
    TinyMemory,
    QuantisedMemory,
    ExactMode,
)
