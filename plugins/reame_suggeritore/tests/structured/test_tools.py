"""Tools over HTTP: choices, formats of models, streams, results fed back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from reame_suggeritore.structured.tool_format import DEFAULT, HERMES, LLAMA3, format_of

from plugins.reame_suggeritore.tests.structured.support import json_format, serving
from tests.server.support import Running, chat_body

CHAT = "/v1/chat/completions"
PLACE = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 6}, "unit": {"enum": ["C", "F"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}


def tool(name: str, parameters: Any = None) -> dict[str, Any]:
    function = {"name": name, "description": f"does {name}"}
    return {"type": "function", "function": function | ({"parameters": parameters} if parameters else {})}


TOOLS = [tool("weather", PLACE), tool("now")]
PARAMETERS = {"weather": PLACE, "now": {"type": "object", "maxProperties": 0}}

QWEN = (
    "{%- if tools %}<|im_start|>system\n# Tools\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}"
    'Answer with <tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call><|im_end|>\n{%- endif %}'
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{%- for call in message.tool_calls or [] %}\n<tool_call>\n"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>'
    "{%- endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA = (
    "{%- if tools %}Environment: ipython\nRespond in the format "
    '{"name": function name, "parameters": dictionary of argument name and its value}.\n'
    "{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{%- endif %}"
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{%- if message.tool_calls %}{%- if message.tool_calls | length != 1 %}"
    '{{ raise_exception("This model only supports single tool-calls at once!") }}{%- endif %}'
    "{{ message.tool_calls[0].function | tojson }}{%- endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEMPLATES = {"default": None, "hermes": QWEN, "llama3": LLAMA}
WRITTEN = {
    "hermes": '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "unit": "C"}}\n</tool_call>',
    "llama3": '{"name": "weather", "parameters": {"city": "Rome", "unit": "C"}}',
}
WRITTEN["default"] = WRITTEN["hermes"]
AGAIN = '\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
REPLIES = {
    "call weather": WRITTEN["hermes"],
    "call llama": WRITTEN["llama3"],
    "call both": WRITTEN["hermes"] + AGAIN,
    "talk first": "Let me see <b>now</b>.\n\n" + WRITTEN["hermes"],
    "only talk": "No tool < needed.",
    "answer in json": '{"sunny": true}',
}


@pytest.fixture(scope="module", params=TEMPLATES)
def served(request: pytest.FixtureRequest) -> Iterator[Running]:
    with serving(REPLIES, template=TEMPLATES[request.param]) as server:
        server.name = request.param  # type: ignore[attr-defined]
        yield server


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving(REPLIES) as server:
        yield server


def ask(server: Running, text: str = "hello", **fields: Any) -> dict[str, Any]:
    fields.setdefault("max_tokens", 250)
    fields.setdefault("tools", TOOLS)
    response = server.chat(text, **fields)
    assert response.status_code == 200, response.text
    [choice] = response.json()["choices"]
    return dict(choice)


def streamed(server: Running, text: str, **fields: Any) -> tuple[str, list[dict[str, Any]], str]:
    """(content, calls put together by their index, finish reason) of a stream, its form checked."""
    body = chat_body(text, **{"tools": TOOLS, "max_tokens": 250, **fields})
    content, reason = "", ""
    calls: dict[int, dict[str, Any]] = {}
    for chunk in server.chunks(CHAT, body):
        [choice] = chunk["choices"]
        content += choice["delta"].get("content") or ""
        for part in choice["delta"].get("tool_calls", []):
            call = calls.setdefault(part["index"], {"id": part.get("id"), "name": "", "arguments": ""})
            assert ("id" in part) == (call["name"] == "")
            call["name"] += part["function"].get("name", "")
            call["arguments"] += part["function"]["arguments"]
        reason = choice["finish_reason"] or reason
    assert list(calls) == list(range(len(calls)))
    return content, list(calls.values()), reason


def calls_of(choice: dict[str, Any]) -> list[tuple[str, Any]]:
    message = choice["message"]
    calls = message.get("tool_calls", [])
    for call in calls:
        assert call["type"] == "function"
        assert call["id"]
    assert len({call["id"] for call in calls}) == len(calls)
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]


@pytest.mark.parametrize("seed", range(6))
def test_required_is_called_with_valid_arguments(served: Running, seed: int) -> None:
    choice = ask(served, tool_choice="required", parallel_tool_calls=False, seed=seed, temperature=1.2)
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    [(name, arguments)] = calls_of(choice)
    jsonschema.validate(arguments, PARAMETERS[name])


def test_a_named_function_is_called_once(served: Running) -> None:
    for name in PARAMETERS:
        wanted = {"type": "function", "function": {"name": name}}
        choice = ask(served, tool_choice=wanted, temperature=1.2)
        [(called, arguments)] = calls_of(choice)
        assert called == name
        jsonschema.validate(arguments, PARAMETERS[name])


def test_auto_calls_where_the_model_wants_to(served: Running) -> None:
    text = "call llama" if served.name == "llama3" else "call weather"  # type: ignore[attr-defined]
    choice = ask(served, text, temperature=0, parallel_tool_calls=False)
    assert calls_of(choice) == [("weather", {"city": "Rome", "unit": "C"})]
    assert choice["finish_reason"] == "tool_calls"
    content, [call], reason = streamed(served, text, temperature=0, parallel_tool_calls=False)
    assert (content, call["name"], reason) == ("", "weather", "tool_calls")
    assert call["id"].startswith("call_")
    assert json.loads(call["arguments"]) == {"city": "Rome", "unit": "C"}


def test_auto_talks_where_the_model_wants_to(served: Running) -> None:
    choice = ask(served, "only talk", temperature=0)
    assert choice["message"]["content"] == "No tool < needed."
    assert choice["finish_reason"] == "stop"
    assert "tool_calls" not in choice["message"]
    assert streamed(served, "only talk", temperature=0) == ("No tool < needed.", [], "stop")


def test_content_before_a_call(server: Running) -> None:
    choice = ask(server, "talk first", temperature=0, parallel_tool_calls=False)
    assert choice["message"]["content"] == "Let me see <b>now</b>."
    assert [name for name, _ in calls_of(choice)] == ["weather"]
    content, [call], reason = streamed(server, "talk first", temperature=0, parallel_tool_calls=False)
    assert (content, call["name"], reason) == ("Let me see <b>now</b>.", "weather", "tool_calls")


def test_parallel_calls_have_an_index_and_an_id_each(server: Running) -> None:
    # case 104
    wanted = [("weather", {"city": "Rome", "unit": "C"}), ("now", {})]
    choice = ask(server, "call both", temperature=0)
    assert calls_of(choice) == wanted
    content, calls, reason = streamed(server, "call both", temperature=0)
    assert (content, reason) == ("", "tool_calls")
    assert [(call["name"], json.loads(call["arguments"])) for call in calls] == wanted
    assert len({call["id"] for call in calls}) == 2
    assert len(calls_of(ask(server, "call both", temperature=0, parallel_tool_calls=False))) == 1


def test_results_are_fed_back_by_id(served: Running) -> None:
    # cases 85, 104
    text = "call llama" if served.name == "llama3" else "call weather"  # type: ignore[attr-defined]
    message = ask(served, text, temperature=0, parallel_tool_calls=False)["message"]
    [call] = message["tool_calls"]
    sizes = set()
    for content in ({"content": None}, {}, {"content": ""}):
        turn = {"role": "assistant", "tool_calls": [call], **content}
        result = {"role": "tool", "tool_call_id": call["id"], "content": "21 degrees"}
        history = [{"role": "user", "content": text}, turn, result]
        body = {"model": "fake", "messages": history, "tools": TOOLS, "max_tokens": 3, "temperature": 0}
        response = served.http.post(CHAT, json=body)
        assert response.status_code == 200, response.text
        sizes.add(response.json()["usage"]["prompt_tokens"])
    assert len(sizes) == 1
    before = served.chat(text, tools=TOOLS, max_tokens=1).json()["usage"]["prompt_tokens"]
    assert sizes.pop() > before + len("Rome") + len("21 degrees")


def test_no_call_begins_where_there_may_be_none(served: Running) -> None:
    bias = {str(token): 50 for token in b"<tool_call>{"}
    choice = ask(served, "call weather", tool_choice="none", temperature=1, logit_bias=bias, seed=1)
    assert "tool_calls" not in choice["message"]
    if served.name != "llama3":  # type: ignore[attr-defined]
        assert "<tool_call>" not in choice["message"]["content"]


def test_tools_together_with_a_schema(server: Running) -> None:
    # case 96
    schema = {"type": "object", "properties": {"sunny": {"type": "boolean"}}, "required": ["sunny"]}
    form = json_format(schema | {"additionalProperties": False})
    choice = ask(server, "answer in json", response_format=form, temperature=0)
    assert json.loads(choice["message"]["content"]) == {"sunny": True}
    assert calls_of(ask(server, "call weather", response_format=form, temperature=0))
    none = ask(server, "call weather", response_format=form, temperature=0, tool_choice="none")
    assert set(json.loads(none["message"]["content"])) == {"sunny"}
    assert calls_of(ask(server, response_format=form, tool_choice="required"))


def test_a_call_that_is_cut_off(server: Running) -> None:
    choice = ask(server, "call weather", temperature=0, max_tokens=60)
    assert choice["finish_reason"] == "length"
    [call] = choice["message"]["tool_calls"]
    assert '{"city": "Rome", "unit": "C"}'.startswith(call["function"]["arguments"])
    assert call["function"]["arguments"]
    shorter = ask(server, "call weather", temperature=0, max_tokens=12)
    assert (shorter["finish_reason"], shorter["message"].get("tool_calls", [])) == ("length", [])


def test_several_choices(server: Running) -> None:
    fields: dict[str, Any] = {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}
    response = server.chat("hello", n=3, temperature=1.2, seed=1, max_tokens=200, **fields)
    choices = response.json()["choices"]
    assert [len(calls_of(choice)) for choice in choices] == [1, 1, 1]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": {}}, "tools"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"tools": [tool("")]}, "tools[0].function.name"),
        ({"tools": [tool('a"b')]}, "tools[0].function.name"),
        ({"tools": [tool("a"), tool("a")]}, "tools"),
        ({"tools": [tool(f"f{n}") for n in range(129)]}, "tools"),
        ({"tools": [tool("a", {"type": "array"})]}, "tools[0].function.parameters.type"),
        ({"tools": [tool("a", [1])]}, "tools[0].function.parameters"),
        (
            {"tools": [tool("a"), tool("b", {"properties": {"x": {"not": {}}}})]},
            "tools[1].function.parameters.properties.x.not",
        ),
        ({"tools": TOOLS, "tool_choice": "sometimes"}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "nope"}}}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": {"type": "function"}}, "tool_choice"),
        ({"tools": TOOLS, "parallel_tool_calls": "yes"}, "parallel_tool_calls"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": TOOLS, "regex": "a"}, "regex"),
        ({"functions": [{"name": "a"}]}, "functions"),
        ({"function_call": {"name": "a"}}, "function_call"),
    ],
)
def test_wrong_fields_are_a_400_with_the_place(server: Running, fields: dict[str, Any], param: str) -> None:
    response = server.chat("hello", **fields)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("template", "form"),
    [
        (None, DEFAULT),
        ("{{ messages }}", DEFAULT),
        ("{% if tools %}{{ tools }}[TOOL_CALLS]{% endif %}", DEFAULT),
        ("{% if tools %}<tool_call><function=name><parameter=a>{% endif %}", DEFAULT),
        (QWEN, HERMES),
        ('{% if tools %}<tool_call>\\n{\\"name\\": <n>, \\"arguments\\": <a>}{% endif %}', HERMES),
        (LLAMA, LLAMA3),
        ('{% if tools %}<|python_tag|>{"name": "f", "parameters": {}}{% endif %}', LLAMA3),
    ],
)
def test_formats_by_template(template: str | None, form: object) -> None:
    assert format_of(template) is form
