"""The openai client: models of pydantic, tools in streams, results fed back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import openai
import pydantic
import pytest

from plugins.reame_suggeritore.tests.structured.support import serving
from plugins.reame_suggeritore.tests.structured.test_tools import REPLIES, TOOLS
from tests.server.support import Running


class Line(pydantic.BaseModel):
    text: str = pydantic.Field(max_length=6)
    amount: int = pydantic.Field(ge=0, le=99)


class Card(pydantic.BaseModel):
    kind: Literal["card"]
    last: str = pydantic.Field(pattern="^[0-9]{4}$")


class Cash(pydantic.BaseModel):
    kind: Literal["cash"]


class Receipt(pydantic.BaseModel):
    lines: list[Line] = pydantic.Field(max_length=2)
    paid: Card | Cash
    note: str | None = pydantic.Field(max_length=4)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving(REPLIES) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Iterator[openai.OpenAI]:
    with server.openai() as made:
        yield made


def user(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize("seed", range(4))
def test_answers_are_parsed_into_models(client: openai.OpenAI, seed: int) -> None:
    answer = client.chat.completions.parse(
        model="fake", messages=user("a receipt"), response_format=Receipt, max_tokens=400, seed=seed
    )
    [choice] = answer.choices
    assert choice.finish_reason == "stop"
    assert isinstance(choice.message.parsed, Receipt)
    assert isinstance(choice.message.parsed.paid, (Card, Cash))


def test_streams_are_parsed_into_models(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(
        model="fake", messages=user("a receipt"), response_format=Receipt, max_tokens=400, seed=9
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert isinstance(final.choices[0].message.parsed, Receipt)


def test_an_answer_that_is_cut_off_is_told(client: openai.OpenAI) -> None:
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(
            model="fake", messages=user("a receipt"), response_format=Receipt, max_tokens=10
        )


def test_tools_in_a_stream_and_results_fed_back(client: openai.OpenAI) -> None:
    # case 104
    messages = user("call both")
    options: dict[str, Any] = {"model": "fake", "tools": TOOLS, "temperature": 0, "max_tokens": 250}
    with client.chat.completions.stream(messages=messages, **options) as stream:
        names = [event.name for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion()
    assert names == ["weather", "now"]
    [choice] = final.choices
    assert choice.finish_reason == "tool_calls"
    calls = choice.message.tool_calls or []
    assert json.loads(calls[0].function.arguments) == {"city": "Rome", "unit": "C"}
    messages.append(choice.message.model_dump(exclude_none=True))
    messages += [{"role": "tool", "tool_call_id": call.id, "content": "21"} for call in calls]
    answer = client.chat.completions.create(messages=messages, tool_choice="none", **options)
    assert answer.choices[0].message.content is not None
    assert answer.usage is not None
    assert answer.usage.prompt_tokens > (final.usage.prompt_tokens if final.usage else 0)


def test_arguments_are_parsed_into_models(client: openai.OpenAI) -> None:
    answer = client.chat.completions.parse(
        model="fake",
        messages=user("a line"),
        tools=[openai.pydantic_function_tool(Line)],
        tool_choice="required",
        parallel_tool_calls=False,
        max_tokens=300,
        seed=1,
    )
    [call] = answer.choices[0].message.tool_calls or []
    assert isinstance(call.function.parsed_arguments, Line)


def test_a_refused_schema_is_a_bad_request(client: openai.OpenAI) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}}
    form: Any = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}}
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="fake", messages=user("x"), response_format=form)
    assert caught.value.param == "response_format.json_schema.schema.properties.a.pattern"
