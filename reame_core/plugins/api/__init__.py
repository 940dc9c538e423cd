"""What a plugin is given and what it answers: the types of the hooks' arguments and results.

Everything here is public and stable within 0.x minor versions. Import it from here: the modules of this package
may change their names. A plugin imports ``reame_core`` (for ``hookimpl`` and these types) and nothing below
``reame_core.engine``.
"""

from reame_core.engine.backend import Backend, ModelInfo, Rows
from reame_core.plugins.api.answers import AnsweredChoice, AskAgain, KnownAnswer, LastMessage, Question
from reame_core.plugins.api.candidates import Candidate, CandidateState, Group
from reame_core.plugins.api.constraints import Constraint, ConstraintMaker
from reame_core.plugins.api.drafts import Draft, DraftPrice, DraftWish, Verdict
from reame_core.plugins.api.fields import (
    ApiRequest,
    FieldService,
    MessageChange,
    ReplyParser,
    ReplyPart,
    RunOption,
    ThoughtPart,
    ToolCallPart,
)
from reame_core.plugins.api.metrics import Metric, Sample
from reame_core.plugins.api.sequences import KVAccess, SequenceView, Stage, TokenChooser
from reame_core.plugins.api.server import ServerAccess, T
from reame_core.plugins.api.startup import Embedder, EmbedderOpener, ModelOpener, PluginContext, SecondModel
from reame_core.plugins.offers import Offers

__all__ = [
    "AnsweredChoice",
    "ApiRequest",
    "AskAgain",
    "Backend",
    "Candidate",
    "CandidateState",
    "Constraint",
    "ConstraintMaker",
    "Draft",
    "DraftPrice",
    "DraftWish",
    "Embedder",
    "EmbedderOpener",
    "FieldService",
    "Group",
    "KVAccess",
    "KnownAnswer",
    "LastMessage",
    "MessageChange",
    "Metric",
    "ModelInfo",
    "ModelOpener",
    "Offers",
    "PluginContext",
    "Question",
    "ReplyParser",
    "ReplyPart",
    "Rows",
    "RunOption",
    "Sample",
    "SecondModel",
    "SequenceView",
    "ServerAccess",
    "Stage",
    "T",
    "ThoughtPart",
    "TokenChooser",
    "ToolCallPart",
    "Verdict",
]
