"""Whatever is read from the store is what was written there, for this tenant, name and model, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reame_arca.sealing import Space

SECRET = b"a secret that nobody guesses"


def space(
    tenant: str = "", layer: str = "a", model: str = "m", secret: bytes | None = None, prefix: str = "reame"
) -> Space:
    return Space(prefix, layer, {"model": model}, tenant, secret)


@given(st.lists(st.binary(max_size=20), max_size=4), st.binary(max_size=300), st.booleans())
def test_what_was_sealed_comes_out_again(material: list[bytes], payload: bytes, encrypted: bool) -> None:
    own = space(secret=SECRET if encrypted else None)
    name = own.name(*material)
    assert own.open(name, own.seal(name, payload)) == payload


@given(st.binary(min_size=1, max_size=200), st.booleans(), st.data())
def test_any_damage_is_noticed(payload: bytes, encrypted: bool, data: st.DataObject) -> None:
    own = space(secret=SECRET if encrypted else None)
    name = own.name(b"x")
    value = own.seal(name, payload)
    place = data.draw(st.integers(0, len(value) - 1))
    flipped = bytes([value[place] ^ data.draw(st.integers(1, 255))])
    assert own.open(name, value[:place] + flipped + value[place + 1 :]) is None
    assert own.open(name, value[:place]) is None
    assert own.open(name, value + b"\0") is None


@given(st.binary(max_size=200), st.booleans())
def test_anything_else_is_no_value(value: bytes, encrypted: bool) -> None:
    own = space(secret=SECRET if encrypted else None)
    assert own.open(own.name(b"x"), value) is None


OTHERS = [
    space(tenant="b"),
    space(layer="b"),
    space(model="other"),
    space(secret=SECRET),
]


@pytest.mark.parametrize("other", OTHERS)
def test_tenants_layers_models_and_secrets_never_meet(other: Space) -> None:
    own = space()
    assert own.name(b"x") != other.name(b"x")
    name = own.name(b"x")
    assert other.open(name, own.seal(name, b"payload")) is None
    assert own.open(name, other.seal(name, b"payload")) is None


def test_a_value_under_another_name_is_none() -> None:
    for secret in (None, SECRET):
        own = space(secret=secret)
        assert own.open(own.name(b"y"), own.seal(own.name(b"x"), b"payload")) is None


def test_names_depend_on_the_parts_and_not_on_their_sum() -> None:
    own = space()
    assert own.name(b"ab", b"c") != own.name(b"a", b"bc") != own.name(b"abc")


def test_nothing_can_be_read_without_the_secret() -> None:
    own = space(secret=SECRET)
    payload = b"what somebody has asked"
    value = own.seal(own.name(payload), payload)
    assert payload not in value
    assert value != own.seal(own.name(payload), payload), "equal values do not look equal"
    assert payload.hex() not in own.name(payload)
