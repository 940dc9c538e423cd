"""Making what was said and a new question fit into the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from reame_core.cli.chat.conversation import Conversation, Message

    Tokenize = Callable[[list[Message]], tuple[int, ...]]

SHARE_FOR_THE_ANSWER = 4
"""With ``drop_oldest``, one part in so many of the context is kept free for the answer."""
SHARE_AFTER_DROPPING = 2
"""So much of the context is filled at most after turns were dropped: what remains has to be computed again,
which should not happen at every turn."""


class ContextFull(UsageError):
    """What was said leaves no room for this question and one token of an answer."""

    REMEDIES = (
        "/undo takes back the last turn, /clear starts anew, /set drop_oldest on forgets the oldest turns when "
        "needed"
    )


def whole_prompt(
    tokenize: Tokenize, conversation: Conversation, question: str, context: int
) -> tuple[int, ...]:
    """The prompt with everything that was said. Raises ContextFull."""
    tokens = tokenize(conversation.with_question(question))
    if len(tokens) < context:
        return tokens
    if not conversation.turns:
        raise ContextFull(_too_long(len(tokens), context))
    raise ContextFull(
        f"the context is full: with this message the chat has {len(tokens)} tokens and the context holds "
        f"{context}. {ContextFull.REMEDIES}; /retry then asks again"
    )


def shortened_prompt(
    tokenize: Tokenize, conversation: Conversation, question: str, context: int
) -> tuple[tuple[int, ...], int]:
    """(the prompt, how many of the oldest turns ``conversation`` has forgotten for it). Raises ContextFull
    where forgetting does not help; nothing is forgotten then."""
    shorter = conversation.copy()
    tokens = tokenize(shorter.with_question(question))
    dropped = 0
    if len(tokens) > context - context // SHARE_FOR_THE_ANSWER:
        while len(tokens) > context // SHARE_AFTER_DROPPING and shorter.drop_oldest():
            dropped += 1
            tokens = tokenize(shorter.with_question(question))
    if len(tokens) >= context:
        raise ContextFull(_too_long(len(tokens), context))
    conversation.messages = shorter.messages
    return tokens, dropped


def _too_long(tokens: int, context: int) -> str:
    return (
        f"this message alone has {tokens} tokens and the context holds {context}, of which one must stay free: "
        "shorten it, or start the chat with a larger --context-length"
    )
