"""Where keys come from, and what is wrong with some."""

from __future__ import annotations

from pathlib import Path

import pytest

from reame_core.errors import ConfigError
from reame_core.server.api_keys import ApiKeys, configured_keys
from tests.server.support import settings_with


def keys(**values: object) -> ApiKeys:
    return configured_keys(settings_with(**values).values.server)


def test_names_and_bare_keys() -> None:
    found = keys(api_key=["alice:one", "two", "carol:with:colon"])
    assert [found.owner(key) for key in (b"one", b"two", b"with:colon")] == ["alice", "key-2", "carol"]
    assert found.owner(b"") is None
    assert found.owner(b"alice:one") is None
    assert len(found) == 3


def test_no_keys() -> None:
    assert not keys()


def test_a_file_of_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# ours\n\nbob:sk-bob\n  sk-plain  \n")
    found = keys(keys_file=file, api_key=["a:x"])
    assert [found.owner(key) for key in (b"x", b"sk-bob", b"sk-plain")] == ["a", "bob", "key-3"]


@pytest.mark.parametrize("content", ["", "# nothing\n"])
def test_an_empty_file_lets_nobody_think_there_are_keys(tmp_path: Path, content: str) -> None:
    file = tmp_path / "keys"
    file.write_text(content)
    with pytest.raises(ConfigError, match="there is no key in this file"):
        keys(keys_file=file)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["a:"], "key 1 is empty"),
        ([":secret"], "key 1 is empty"),
        (["a:secret", "a:other"], "two keys are called 'a'"),
        (["a:sec ret"], "printable ASCII"),
        (["a:sécret"], "printable ASCII"),
    ],
)
def test_wrong_keys_are_refused_without_showing_them(given: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        keys(api_key=given)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the keys: No such file"):
        keys(keys_file=tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        keys(keys_file=tmp_path / "binary")


def test_keys_are_not_in_the_object() -> None:
    assert "secret" not in repr(vars(keys(api_key=["a:secret"])))
