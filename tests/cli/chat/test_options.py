"""/set: names, ranges and errors are those of the flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reame_core.cli.chat.options import ChatOptions
from reame_core.config import load_settings
from reame_core.config.keys import all_keys
from reame_core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., Any]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/set temperature 0.8", "temperature is 0.8"),
        ("/set top-p 0.5", "top_p is 0.5"),
        ("/set TOP_K 40", "top_k is 40"),
        ("/set max_tokens unlimited", "max_tokens is unlimited"),
        ("/set seed 7", "seed is 7"),
        ("/set seed random", "seed is random"),
        ("/set stop END OF IT", "stop is END OF IT"),
        ("/set stop none", "stop is none"),
        ("/set markdown off", "markdown is false"),
        ("/set system Be brief.", "system is Be brief."),
        ('/set system """Be brief.\nBe kind."""', "system is Be brief.\\nBe kind."),
        ('/set system\n"""Be brief."""', "system is Be brief."),
        ("/set   temperature   1", "temperature is 1"),
    ],
)
def test_what_can_be_set(typed: str, told: str, bench: Make) -> None:
    assert bench().talk(typed) == [("say", told)]


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ("/set temperature hot", "temperature must be a number from 0 to 100, not 'hot'"),
        ("/set temperature -1", "temperature must be a number from 0 to 100, not -1"),
        ("/set temperature nan", "temperature must be a number from 0 to 100, not nan"),
        ("/set top_p 0", "top_p must be a number above 0 and at most 1, not 0"),
        ("/set top_k 1.5", "top_k must be a whole number from 0 to 2147483648, not '1.5'"),
        ("/set max_tokens 0", "max_tokens must be a whole number from 1 to 2147483648, or unlimited, not 0"),
        (
            "/set seed x",
            "seed must be a whole number from -9223372036854775808 to 18446744073709551615, or random, not 'x'",
        ),
        (
            "/set seed 99999999999999999999",
            "seed must be a whole number from -9223372036854775808 to 18446744073709551615, or random, "
            "not 99999999999999999999",
        ),
        ("/set markdown maybe", "markdown must be true or false, not 'maybe'"),
        ("/set temprature 1", "there is no setting temprature; did you mean temperature?"),
        ("/set zzz 1", "there is no setting zzz; /set lists them"),
    ],
)
def test_what_cannot_be_set(typed: str, error: str, bench: Make) -> None:
    made = bench()
    before = {name: made.chat.value(option) for name, option in made.chat.options.known.items()}
    assert made.talk(typed) == [("error", error)]
    assert {name: made.chat.value(option) for name, option in made.chat.options.known.items()} == before


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p", "repeat_penalty", "max_tokens"])
@pytest.mark.parametrize("value", ["", "x", "-1", "1e999", "10000000000000"])
def test_the_errors_are_those_of_flags(name: str, value: str) -> None:
    options = ChatOptions(load_settings(environment={}), seed=None, stop=())
    expected = ""
    try:
        all_keys()[f"sampling.{name}"].read_text(value)
    except ValueError as error:
        expected = f"{name} {error}"
    if not expected:
        pytest.skip("a good value")
    with pytest.raises(ConfigError) as caught:
        options.set(options.option(name), value)
    assert str(caught.value) == expected


def test_what_is_set_reaches_the_engine(bench: Make) -> None:
    made = bench(seed=3, stop=("a", "b"), settings={"SAMPLING__TOP_K": "9"})
    made.talk("/set temperature 0.5", "/set top_p 0.9", "/set min_p 0.1", "/set max_tokens 6")
    request = made.chat.options.request((1, 2), ("###",))
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p) == (0.5, 9, 0.9, 0.1)
    assert (sampling.seed, request.max_tokens, request.stop) == (3, 6, ("a", "b", "###"))
    made.talk("/set stop c", "/set seed random", "/set top_k default", "/set temperature default")
    request = made.chat.options.request((1, 2), ())
    assert (request.stop, request.sampling.seed) == (("c",), None)
    assert (request.sampling.top_k, request.sampling.temperature) == (9, 0)


def test_instructions_change_with_the_next_message(bench: Make) -> None:
    made = bench(system="One.")
    made.talk("/set system Two.")
    assert made.chat.conversation.everything() == [{"role": "system", "content": "Two."}]
    made.talk("/set system none")
    assert made.chat.conversation.everything() == []
    made.talk("/set system default")
    assert made.chat.conversation.system == "One."


def test_one_setting_and_all_of_them_are_shown(bench: Make) -> None:
    made = bench()
    ((_, one),) = made.talk("/set temperature")
    assert one.splitlines()[0] == "temperature is 0"
    assert "a number from 0 to 100" in one
    ((_, every),) = made.talk("/set")
    names = [line.split()[0] for line in every.splitlines()]
    assert names == list(made.chat.options.known)
    assert made.talk("/show") == made.talk("/show settings") == [("say", every)]


@pytest.mark.parametrize("value", [True, 1.5, "7", 1 << 70])
def test_a_saved_seed_must_be_one(value: object) -> None:
    options = ChatOptions(load_settings(environment={}), seed=None, stop=())
    with pytest.raises(UsageError, match="seed must be a whole number"):
        options.checked({"seed": value})
