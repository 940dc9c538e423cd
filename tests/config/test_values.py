"""What each setting accepts, from the file and from texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import inspect

from reame_core.config import Flag
from reame_core.config.keys import Key, all_keys
from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import ConfigError, InvalidRequest

if TYPE_CHECKING:
    from tests.config.conftest import Load

KEYS = list(all_keys().values())
NUMBERS = [key for key in KEYS if isinstance(key.shape, inspect.IntType | inspect.FloatType)]
SWITCHES = [key for key in KEYS if isinstance(key.shape, inspect.BoolType)]
LISTS = [key for key in KEYS if isinstance(key.shape, inspect.VarTupleType)]


def name_of(key: Key) -> str:
    return key.full_name


def bounds(key: Key) -> tuple[Any, Any, bool]:
    shape = key.shape
    assert isinstance(shape, inspect.IntType | inspect.FloatType)
    return (shape.ge if shape.gt is None else shape.gt), shape.le, shape.gt is not None


def read(load: Load, key: Key, text: str) -> object:
    values = load(environment={key.variable: text}).values
    return getattr(getattr(values, key.section), key.name)


def refused(load: Load, key: Key, text: str) -> str:
    """The refusals by variable, flag and file, which must agree but for the place and the quotes."""
    with pytest.raises(ConfigError) as by_variable:
        load(environment={key.variable: text})
    with pytest.raises(ConfigError) as by_flag:
        load(flags=[Flag("--flag", key.full_name, text)])
    by_variable_text, by_flag_text = str(by_variable.value), str(by_flag.value)
    assert by_variable_text.startswith(f"{key.variable} must be {key.expected}, not ")
    assert by_flag_text == by_variable_text.replace(key.variable, "--flag", 1)
    return by_variable_text


@pytest.mark.parametrize("key", NUMBERS, ids=name_of)
def test_numbers_have_a_range(key: Key, load: Load) -> None:
    low, high, low_is_open = bounds(key)
    assert read(load, key, str(high)) == high
    if not low_is_open and key.name != "threads":
        assert read(load, key, str(low)) == low
    below = low if low_is_open else low - 1
    for wrong in (below, high + 1):
        refused(load, key, str(wrong))
        with pytest.raises(ConfigError, match=f"{key.full_name} must be .*, not {wrong}"):
            load(f"[{key.section}]\n{key.name} = {wrong}\n")


@pytest.mark.parametrize("key", NUMBERS, ids=name_of)
@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "", "x", "1 2", "0x10", "true", "1e400", "9" * 400])
def test_numbers_are_finite_numbers(key: Key, text: str, load: Load) -> None:
    assert len(refused(load, key, text)) < 300


@pytest.mark.parametrize("key", NUMBERS, ids=name_of)
@pytest.mark.parametrize("written", ["nan", "inf", "true", '"5"', "[5]", "{ a = 5 }", "1979-05-27", "9" * 400])
def test_numbers_in_a_file_are_numbers(key: Key, written: str, load: Load) -> None:
    with pytest.raises(ConfigError, match=f"{key.full_name} must be {key.expected.split()[0]}"):
        load(f"[{key.section}]\n{key.name} = {written}\n")


@pytest.mark.parametrize("key", [key for key in NUMBERS if isinstance(key.shape, inspect.IntType)], ids=name_of)
def test_whole_numbers_are_whole(key: Key, load: Load) -> None:
    refused(load, key, "8.5")
    with pytest.raises(ConfigError):
        load(f"[{key.section}]\n{key.name} = 8.5\n")


@pytest.mark.parametrize("key", SWITCHES, ids=name_of)
def test_switches_have_words(key: Key, load: Load) -> None:
    assert {read(load, key, word) for word in ("true", "1", "yes", "on", "TRUE", " On ")} == {True}
    assert {read(load, key, word) for word in ("false", "0", "no", "off", "No")} == {False}
    for wrong in ("", "2", "maybe", "ja"):
        refused(load, key, wrong)
    for wrong in ("1", '"yes"'):
        with pytest.raises(ConfigError, match="must be true or false"):
            load(f"[{key.section}]\n{key.name} = {wrong}\n")


@pytest.mark.parametrize("key", LISTS, ids=name_of)
def test_lists_are_separated_by_commas(key: Key, load: Load) -> None:
    assert read(load, key, "a, b,,c ,") == ("a", "b", "c")
    assert read(load, key, "") == ()
    for wrong in ('"a"', "[1]", '[""]', "[[]]", "1"):
        with pytest.raises(ConfigError, match=f"{key.full_name} must be a list of names"):
            load(f"[{key.section}]\n{key.name} = {wrong}\n")


def test_words_are_from_a_list(load: Load) -> None:
    message = refused(load, all_keys()["model.kv_cache_type"], "q5_1")
    assert message == "REAME_MODEL__KV_CACHE_TYPE must be one of f16, q8_0, q4_0, not 'q5_1'"
    with pytest.raises(ConfigError, match=r"engine\.extra_buffers must be one of auto, on, off, not true"):
        load("[engine]\nextra_buffers = true\n")


def test_long_values_are_cut(load: Load) -> None:
    with pytest.raises(ConfigError) as error:
        load(environment={"REAME_MODEL__KV_CACHE_TYPE": "x\n" * 1000})
    assert len(str(error.value)) < 150


@pytest.mark.parametrize("key", [key for key in KEYS if key.is_path], ids=name_of)
def test_no_path_holds_a_nul(key: Key, load: Load) -> None:
    with pytest.raises(ConfigError, match=f"{key.full_name} must not hold a NUL"):
        load(f"[{key.section}]\n{key.name} = {json.dumps(chr(0))}\n")
    assert read(load, key, "") is None


@pytest.mark.parametrize("key", [key for key in KEYS if key.section == "sampling"], ids=name_of)
def test_sampling_settings_have_the_range_of_requests(key: Key) -> None:
    def request(value: object) -> object:
        if key.name == "max_tokens":
            return Request(prompt=(1,), max_tokens=value)  # type: ignore[arg-type]
        return SamplingParams(**{key.name: value})  # type: ignore[arg-type]

    low, high, low_is_open = bounds(key)
    request(high)
    request(low + 0.001 if low_is_open else low)
    for wrong in (low if low_is_open else low - 1, high + 1):
        with pytest.raises(InvalidRequest):
            request(wrong)


def test_sampling_settings_have_the_defaults_of_requests() -> None:
    for key in KEYS:
        if key.section == "sampling":
            source = Request(prompt=(1,)) if key.name == "max_tokens" else SamplingParams()
            assert getattr(source, key.name) == key.default
