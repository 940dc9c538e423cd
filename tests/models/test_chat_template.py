from __future__ import annotations

from dataclasses import replace

import pytest

from reame_core.engine.backend import ModelInfo
from reame_core.errors import InvalidRequest, ModelError
from reame_core.models.chat_template import ChatTemplate

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
GEMMA = """{{ bos_token }}
{%- if messages[0].role == 'system' -%}{{ raise_exception('System role not supported') }}{%- endif -%}
{%- for m in messages -%}
    {%- if (m.role == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception('Conversation roles must alternate user/assistant') }}
    {%- endif -%}
    <start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}
{{ m.content | trim }}<end_of_turn>
{% endfor -%}
{%- if add_generation_prompt -%}<start_of_turn>model
{% endif -%}"""

SYSTEM = {"role": "system", "content": "Be brief."}
HI = {"role": "user", "content": "hi"}
YES = {"role": "assistant", "content": "yes"}
INFO = ModelInfo("m", 100, 100, 100, 4, 64, special_tokens={"<s>": 1}, bos_text="<s>", eos_text="</s>")


def refusal(template: ChatTemplate, *messages: dict[str, object], **extra: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        template.render(messages, **extra)
    assert "\n" not in str(caught.value)
    assert "{%" not in str(caught.value)
    return str(caught.value)


def test_a_conversation() -> None:
    template = ChatTemplate(CHATML)
    assert template.render([SYSTEM, HI]) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert template.render([HI], add_generation_prompt=False) == "<|im_start|>user\nhi<|im_end|>\n"


@pytest.mark.parametrize(
    "messages",
    [[{"role": "user", "content": ""}], [SYSTEM], [YES], [HI, YES], [HI]],
)
def test_odd_conversations_render(messages: list[dict[str, object]]) -> None:
    assert ChatTemplate(CHATML).render(messages).endswith("<|im_start|>assistant\n")


def test_developer_renders_like_system() -> None:
    template = ChatTemplate(CHATML)
    assert template.render([{**SYSTEM, "role": "developer"}, HI]) == template.render([SYSTEM, HI])


class TestWhatTemplatesMayUse:
    def rendered(self, source: str, **extra: object) -> str:
        return ChatTemplate(source, "<s>", "</s>").render([HI], **extra)

    def test_tokens_tools_and_extra_variables(self) -> None:
        assert self.rendered(
            "{{ bos_token }}{{ eos_token }}{{ tools }}{{ enable_thinking }}", enable_thinking=False
        ) == ("<s></s>NoneFalse")

    def test_tools(self) -> None:
        assert self.rendered("{{ tools[0].name }}", tools=[{"name": "f"}]) == "f"

    def test_tojson_leaves_characters_as_they_are(self) -> None:
        assert self.rendered("{{ {'a': '<é>&'} | tojson }}") == '{"a": "<é>&"}'
        assert (
            self.rendered("{{ {'b': 1, 'a': 2} | tojson(indent=1, sort_keys=True) }}")
            == '{\n "a": 2,\n "b": 1\n}'
        )

    def test_loop_controls(self) -> None:
        assert (
            self.rendered("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}")
            == "1"
        )

    def test_blocks_leave_no_blank_lines(self) -> None:
        assert self.rendered("a\n    {% if true %}\nb\n    {% endif %}\nc") == "a\nb\nc"

    def test_marks_for_training(self) -> None:
        assert self.rendered("a{% generation %}b{% endgeneration %}c") == "abc"

    def test_the_date(self) -> None:
        assert self.rendered("{{ strftime_now('%Y') }}").isdigit()

    def test_undefined_is_empty(self) -> None:
        assert self.rendered("[{{ nothing }}]") == "[]"


class TestRefusals:
    def test_the_templates_own_sentence(self) -> None:
        assert refusal(ChatTemplate(GEMMA), HI, HI) == "Conversation roles must alternate user/assistant"
        assert refusal(ChatTemplate(GEMMA), YES) == "Conversation roles must alternate user/assistant"

    def test_its_sentence_is_one_line(self) -> None:
        assert refusal(ChatTemplate("{{ raise_exception('a\nb') }}"), HI) == r"a\nb"

    @pytest.mark.parametrize(
        ("source", "says"),
        [
            ("{{ messages[3].content.x }}", "has no element 3"),
            ("{{ messages + 1 }}", "(TypeError)"),
            ("{{ ''.__class__.__mro__ }}", "(SecurityError)"),
            ("{% set _ = messages.append(1) %}", "(SecurityError)"),
            ("{% for i in range(10000000) %}{% endfor %}", "(OverflowError)"),
            ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "(RecursionError)"),
            ("{{ 1 / 0 }}", "(ZeroDivisionError)"),
            ("{{ 'a' * 10 ** 15 }}", "(MemoryError)"),
        ],
    )
    def test_what_fails_in_the_template(self, source: str, says: str) -> None:
        message = refusal(ChatTemplate(source), HI)
        assert message.startswith("the model's chat template cannot render these messages")
        assert says in message

    def test_extra_variables_cannot_replace_ours(self) -> None:
        assert (
            refusal(ChatTemplate(CHATML), HI, bos_token="x")
            == "bos_token is no extra variable of a chat template"
        )

    @pytest.mark.parametrize(
        ("source", "says"),
        [
            ("a\n{% if %}", "has an error in line 2"),
            ("{{ x | nosuchfilter }}", "No filter named 'nosuchfilter'"),
            ("{{ " + "(" * 20_000 + ")" * 20_000 + " }}", "nested too deeply"),
        ],
    )
    def test_what_is_no_template(self, source: str, says: str) -> None:
        with pytest.raises(ModelError, match=says) as caught:
            ChatTemplate(source)
        assert "\n" not in str(caught.value)


class TestSystemMessages:
    def test_a_template_that_refuses_them_gets_them_in_the_user_turn(self) -> None:
        assert ChatTemplate(GEMMA, "<bos>").render([SYSTEM, HI]) == (
            "<bos><start_of_turn>user\nBe brief.\n\nhi<end_of_turn>\n<start_of_turn>model\n"
        )

    def test_a_template_that_drops_them_too(self) -> None:
        template = ChatTemplate(
            "{% for m in messages %}{% if m.role == 'user' %}[{{ m.content }}]{% endif %}{% endfor %}"
        )
        assert template.render([SYSTEM, HI]) == "[Be brief.\n\nhi]"
        assert template.render([HI, SYSTEM]) == "[hi][Be brief.]"

    def test_otherwise_they_stay(self) -> None:
        assert "<|im_start|>system\nBe brief.<|im_end|>" in ChatTemplate(CHATML).render([SYSTEM, HI])


PARTS = "{% for m in messages %}{{ m.role }}:{% for p in m.content %}{{ p.text }}{% endfor %};{% endfor %}"


def test_a_template_that_wants_parts_gets_parts() -> None:
    assert ChatTemplate(PARTS).render([SYSTEM, HI]) == "system:Be brief.;user:hi;"


CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
}


class TestToolCalls:
    def test_arguments_are_serialised_once(self) -> None:
        template = ChatTemplate("{{ messages[1].tool_calls[0].function.arguments | tojson }}")
        assert template.render([HI, CALL]) == '{"a": 1}'

    def test_a_template_that_concatenates_them(self) -> None:
        template = ChatTemplate("{{ 'call ' + messages[1].tool_calls[0].function.arguments }}")
        assert template.render([HI, CALL]) == 'call {"a": 1}'


class TestFallbacks:
    def test_the_models_own_template_comes_first(self) -> None:
        template = ChatTemplate.for_model(replace(INFO, chat_template="{{ bos_token }}own"))
        assert (template.render([HI]), template.note, template.stops) == ("<s>own", "", ())

    @pytest.mark.parametrize("source", [None, "", "  \n"])
    def test_chatml_where_the_vocabulary_has_it(self, source: str | None) -> None:
        info = replace(INFO, chat_template=source, special_tokens={"<|im_start|>": 5})
        template = ChatTemplate.for_model(info)
        assert template.render([HI]) == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
        assert template.note == "the model has no chat template; the ChatML form is used instead"

    def test_else_the_plain_form(self) -> None:
        template = ChatTemplate.for_model(INFO)
        assert template.render([SYSTEM, HI, YES]) == (
            "### System:\nBe brief.\n\n### User:\nhi\n\n### Assistant:\nyes\n\n### Assistant:\n"
        )
        assert "'### User:'" in template.note
        assert template.stops == ("\n### User:", "\n### Assistant:", "\n### System:")

    def test_a_broken_template_is_replaced_and_reported(self) -> None:
        template = ChatTemplate.for_model(replace(INFO, chat_template="{% if %}"))
        assert "### User:\nhi" in template.render([HI])
        assert template.note.startswith("the model's chat template has an error in line 1;")
