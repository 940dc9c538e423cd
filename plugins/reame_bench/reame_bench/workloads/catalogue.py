"""All workloads, in the order in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_bench.texts import document, invoices, tagger, triage
from reame_bench.workloads.best_of import BestOf
from reame_bench.workloads.conversation import Conversation
from reame_bench.workloads.generation import DraftModel, Fresh, Repeats, Rewrite
from reame_bench.workloads.kept import Kept
from reame_bench.workloads.learning import LearningCurve
from reame_bench.workloads.prefix import Prefix
from reame_bench.workloads.together import Together
from reame_bench.workloads.users import Stall, Users

if TYPE_CHECKING:
    from reame_bench.workloads.workload import Workload

WORKLOADS: tuple[Workload, ...] = (
    LearningCurve("triage", "Triage of tickets", triage.conversations, triage.ANSWER_TOKENS),
    LearningCurve("tagger", "Tags for articles", tagger.conversations, tagger.ANSWER_TOKENS),
    LearningCurve(
        "invoices", "Invoices by a schema", invoices.conversations, invoices.ANSWER_TOKENS, invoices.SCHEMA
    ),
    LearningCurve("document", "Questions on a document", document.conversations, document.ANSWER_TOKENS),
    Prefix(),
    Repeats(),
    Fresh(),
    Rewrite(),
    Users(),
    Stall(),
    BestOf(),
    DraftModel(),
    Kept(),
    Conversation(),
    Together(),
)
BY_NAME = {workload.name: workload for workload in WORKLOADS}
