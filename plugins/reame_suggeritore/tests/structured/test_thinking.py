"""Models that think first: the constraint begins at the very token where the answer begins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plugins.reame_suggeritore.tests.structured.support import json_format, serving
from tests.server.support import chat_body

CHAT = "/v1/chat/completions"
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["answer"],
    "additionalProperties": False,
}
TURN = "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
BODY = "{%- for message in messages %}" + TURN + "{% endfor %}"
TEMPLATES = {
    "open": BODY + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}{# </think> #}",
    "closed": BODY + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n\n</think>\n\n{% endif %}",
    "free": BODY + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}{# </think> #}",
}
FENCED = 'It is 42, in a fence: ```json {"answer": 7} ```'
REPLIES = {
    "think first": f'<think>\n{FENCED}</think>\n\n{{"answer": 42}}',
    "do not think": '<think>\n\n</think>\n\n{"answer": 42}',
    "at once": '{"answer": 42}',
}


@pytest.mark.parametrize(
    ("template", "text", "thoughts"),
    [
        ("free", "think first", "\n" + FENCED),
        ("free", "at once", None),
        ("open", "think first", FENCED),
        ("closed", "do not think", None),
    ],
)
def test_thoughts_are_free_and_the_answer_is_not(template: str, text: str, thoughts: str | None) -> None:
    # case 49
    with serving(REPLIES, template=TEMPLATES[template]) as server:
        fields: dict[str, Any] = {"response_format": json_format(SCHEMA), "temperature": 0, "max_tokens": 200}
        [choice] = server.chat(text, **fields).json()["choices"]
        assert json.loads(choice["message"]["content"]) == {"answer": 42}
        assert choice["message"].get("reasoning_content") == thoughts
        content = reasoning = ""
        for chunk in server.chunks(CHAT, chat_body(text, logprobs=True, **fields)):
            delta = chunk["choices"][0]["delta"]
            content += delta.get("content") or ""
            reasoning += delta.get("reasoning_content") or ""
        assert json.loads(content) == {"answer": 42}
        assert reasoning == (thoughts or "")


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("seed", range(4))
def test_random_thoughts_end_in_a_valid_answer(template: str, seed: int) -> None:
    # case 49, with another token behind the thoughts each time
    bias = {str(ord(letter)): 3.0 for letter in "</think>"}
    with serving(template=TEMPLATES[template]) as server:
        fields: dict[str, Any] = {"response_format": json_format(SCHEMA), "seed": seed, "max_tokens": 400}
        [choice] = server.chat("hello", temperature=1, logit_bias=bias, **fields).json()["choices"]
        if choice["finish_reason"] == "stop":
            assert 0 <= json.loads(choice["message"]["content"])["answer"] <= 99
        else:
            assert template != "closed"
