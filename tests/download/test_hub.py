"""Models from a hub: ``huggingface_hub`` really asks a server on this machine, by way of HF_ENDPOINT."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reame_core.errors import ModelError
from reame_core.models.download.pull import Pulled, pull
from reame_core.models.download.web import Web
from reame_core.models.folder import ModelsFolder
from reame_core.models.sources import RemoteSource, parse_source
from reame_core.models.sources.hub_choice import PREFERRED, choose_file, files_of_split
from tests.download.conftest import a_model
from tests.download.file_server import COMMIT, FileServer, cut, refuse, sha256

REPOSITORY = "ada/Tiny-GGUF"
SHARDS = [f"Q8_0/tiny-q8_0-0000{i}-of-00003.gguf" for i in (1, 2, 3)]


class Hub:
    """A hub with one repository, whose files lie on another host."""

    def __init__(self, server: FileServer, cdn: FileServer, folder: ModelsFolder, web: Web) -> None:
        self.server, self.cdn, self.folder, self.web = server, cdn, folder, web
        server.cdn = cdn.url
        server.repositories[REPOSITORY] = self.files = {"README.md": b"Tiny"}

    def offer(self, name: str, content: bytes) -> None:
        self.files[name] = content
        self.cdn.files[f"/{name}"] = content

    def pull(self, text: str, name: str = "m", *, pin: str | None = None) -> Pulled:
        return pull(name, source(text), self.folder, web=self.web, sha256=pin)

    def refused(self, text: str) -> str:
        with pytest.raises(ModelError) as caught:
            self.pull(text)
        assert "\n" not in str(caught.value)
        return str(caught.value)


def source(text: str) -> RemoteSource:
    found = parse_source(text)
    assert isinstance(found, RemoteSource)
    return found


@pytest.fixture
def hub(
    server: FileServer, cdn: FileServer, folder: ModelsFolder, web: Web, monkeypatch: pytest.MonkeyPatch
) -> Hub:
    monkeypatch.setenv("HF_ENDPOINT", server.url + "/")
    return Hub(server, cdn, folder, web)


def test_a_file_of_a_repository(hub: Hub, model: bytes) -> None:
    hub.offer("tiny-q4_k_m.gguf", model)
    pulled = hub.pull(f"hf:{REPOSITORY}:tiny-q4_k_m.gguf")
    assert (pulled.path.read_bytes(), pulled.path.name, pulled.unchecked) == (model, "m.gguf", False)
    assert pulled.reference == f"hf:{REPOSITORY}@{COMMIT}:tiny-q4_k_m.gguf"
    assert hub.folder.fetched_from(f"hf:{REPOSITORY}:tiny-q4_k_m.gguf") == "m"
    # the very commit that the hub described
    assert hub.server.gets("/resolve/")[0].target == f"/{REPOSITORY}/resolve/{COMMIT}/tiny-q4_k_m.gguf"


def test_the_token_goes_to_the_hub_alone(hub: Hub, model: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.offer("a.gguf", model)
    hub.cdn.misdeeds[:] = [cut(1000)]
    hub.pull(f"hf:{REPOSITORY}")
    assert [request.headers["authorization"] for request in hub.server.requests] == ["Bearer hf_secret"] * 3
    assert len(hub.cdn.requests) == 2
    assert not any("hf_secret" in str(request) for request in hub.cdn.requests)
    written = [path.read_text() for path in hub.folder.path.rglob("*.json")]
    assert written
    assert not any("secret" in text for text in written)


def test_a_token_is_no_part_of_requests_elsewhere(
    hub: Hub, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.cdn.files["/a.gguf"] = model
    pull("m", source(f"{hub.cdn.url}/a.gguf"), hub.folder, web=hub.web)
    assert "authorization" not in hub.cdn.requests[0].headers


def test_a_break_on_the_other_host_is_resumed_there(hub: Hub, model: bytes) -> None:
    hub.offer("a.gguf", model)
    hub.cdn.misdeeds[:] = [cut(500_000)]
    assert hub.pull(f"hf:{REPOSITORY}").path.read_bytes() == model
    assert [request.range for request in hub.cdn.requests] == [None, "bytes=500000-"]


def test_what_the_hub_promised_has_to_come(hub: Hub, model: bytes) -> None:
    hub.offer("a.gguf", model)
    hub.cdn.files["/a.gguf"] = a_model(fill=9)
    assert "its SHA-256 is" in hub.refused(f"hf:{REPOSITORY}")
    hub.cdn.files["/a.gguf"] = a_model(800_000)
    assert "a.gguf has 800,096 bytes at 127.0.0.1, but should have 700,064" in hub.refused(f"hf:{REPOSITORY}")


# case 122
def test_case_122_a_file_that_changed_upstream_is_not_the_one_of_the_catalogue(hub: Hub, model: bytes) -> None:
    hub.offer("a.gguf", model)
    assert hub.pull(f"hf:{REPOSITORY}", pin=sha256(model)).fetched
    with pytest.raises(ModelError, match=r"was changed at its source: the catalogue expects"):
        hub.pull(f"hf:{REPOSITORY}", "other", pin="0" * 64)
    assert len(hub.cdn.requests) == 1


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("", "tiny-Q4_K_M.gguf"),
        (":Q8_0", SHARDS[0]),
        (":q5_k_m", "tiny-Q5_K_M.gguf"),
        (":tiny-Q5_K_M.gguf", "tiny-Q5_K_M.gguf"),
        (f":{SHARDS[1]}", SHARDS[0]),
        (f":{SHARDS[2].partition('/')[2]}", SHARDS[0]),
    ],
)
def test_which_file_is_meant(wanted: str, chosen: str) -> None:
    listing = [
        "README.md",
        *SHARDS,
        "tiny-Q4_K_M.gguf",
        "tiny-Q5_K_M.gguf",
        "mmproj-Q4_K_M.gguf",
        "imatrix.gguf",
    ]
    assert choose_file(listing, wanted.lstrip(":") or None, REPOSITORY) == chosen


def test_only_one_of_its_kind_is_chosen_unasked() -> None:
    assert choose_file(["odd.gguf"], None, "a/b") == "odd.gguf"
    assert choose_file([f"m-{name}.gguf" for name in reversed(PREFERRED)], None, "a/b") == "m-Q4_K_M.gguf"
    with pytest.raises(ModelError, match=r"hf:a/b has 2 models: say which, as in hf:a/b:x-Q8_0.gguf"):
        choose_file(["x-Q8_0.gguf", "y-Q8_0.gguf"], None, "a/b")
    with pytest.raises(ModelError, match=r"has no file 'Q8_0': did you mean x-Q8_0.gguf or y-Q8_0.gguf\?"):
        choose_file(["x-Q8_0.gguf", "y-Q8_0.gguf"], "Q8_0", "a/b")


def test_case_126_a_file_that_is_not_there() -> None:
    listing = ["tiny-q4_k_m.gguf", "tiny-q8_0.gguf"]
    with pytest.raises(ModelError, match=r"no file 'tiny-q4_k_n.gguf': did you mean tiny-q4_k_m.gguf"):
        choose_file(listing, "tiny-q4_k_n.gguf", "a/b")
    with pytest.raises(ModelError, match=r"no file 'xyz': it has tiny-q4_k_m.gguf or tiny-q8_0.gguf"):
        choose_file(listing, "xyz", "a/b")
    with pytest.raises(ModelError, match=r"hf:a/b has no GGUF file"):
        choose_file(["model.safetensors"], None, "a/b")


# case 124
def test_case_124_all_parts_of_a_split_model_come(hub: Hub) -> None:
    contents = [a_model(100_000, fill=i) for i in (1, 2, 3)]
    for name, content in zip(SHARDS, contents, strict=True):
        hub.offer(name, content)
    hub.cdn.misdeeds[:] = [cut(50_000)]
    pulled = hub.pull(f"hf:{REPOSITORY}:Q8_0")
    assert pulled.path.name == "m-00001-of-00003.gguf"
    assert [path.read_bytes() for path in hub.folder.files("m")] == contents
    assert hub.folder.models() == {"m": pulled.path}
    (hub.folder.path / "m-00002-of-00003.gguf").unlink()
    assert "m-00002-of-00003.gguf is missing" in (hub.folder.damage("m") or "")


def test_case_124_a_part_that_is_missing_upstream(hub: Hub, model: bytes) -> None:
    for name in SHARDS[:2]:
        hub.offer(name, model)
    said = hub.refused(f"hf:{REPOSITORY}:Q8_0")
    assert "is a model in 3 files, and the repository lacks tiny-q8_0-00003-of-00003.gguf" in said
    assert hub.cdn.requests == []
    assert files_of_split(["a.gguf"], "a.gguf") == ["a.gguf"]


def test_case_124_a_model_shows_only_when_all_its_parts_are_there(hub: Hub) -> None:
    for i, name in enumerate(SHARDS):
        hub.offer(name, a_model(100_000, fill=i))
    hub.cdn.misdeeds[:] = [lambda answer: answer.serve(), refuse(404)]
    assert "127.0.0.1 has no tiny-q8_0-00002-of-00003.gguf" in hub.refused(f"hf:{REPOSITORY}:Q8_0")
    assert hub.folder.models() == {}
    assert len(hub.folder.parts("m")) == 1
    hub.cdn.requests.clear()
    hub.pull(f"hf:{REPOSITORY}:Q8_0")
    assert ["00001" in request.target for request in hub.cdn.requests] == [False, False]


# case 124: the same from any server, beginning with a part in the middle
def test_case_124_a_split_model_by_its_address(cdn: FileServer, folder: ModelsFolder, web: Web) -> None:
    for i in (1, 2):
        cdn.files[f"/x/big-0000{i}-of-00002.gguf"] = a_model(50_000, fill=i)
    found = source(f"{cdn.url}/x/big-00002-of-00002.gguf")
    assert found.suggested_name == "big"
    pull("big", found, folder, web=web)
    assert [path.name for path in folder.files("big")] == ["big-00001-of-00002.gguf", "big-00002-of-00002.gguf"]


# case 125
@pytest.mark.parametrize(
    "name",
    [
        "../../x.gguf",
        "/tmp/x.gguf",
        "a\\..\\x.gguf",
        "x.gguf\0.txt",
        "a/../x.gguf",
        "x\n.gguf",
        ".x.gguf",
        "a/.x.gguf",
    ],
)
def test_case_125_names_that_lead_out_of_the_folder(hub: Hub, model: bytes, name: str) -> None:
    hub.offer(name, model)
    assert "has no GGUF file" in hub.refused(f"hf:{REPOSITORY}")
    assert hub.server.gets("/resolve/") == []


def test_a_repository_that_is_not_there(hub: Hub, pauses: list[float]) -> None:
    said = hub.refused("hf:ada/none")
    assert f"there is no repository ada/none at {hub.server.url}, or it is private" in said
    assert pauses == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (refuse(403, x_error_code="GatedRepo"), "asks for a licence to be accepted: do that at"),
        (refuse(404, x_error_code="RevisionNotFound"), "has no revision v9"),
        (refuse(401, x_error_code="RepoNotFound"), "or it is private"),
        (refuse(200, b"<html>"), "does not answer like a hub"),
        (refuse(200, b"[]"), "does not answer like a hub"),
        (refuse(400), "refuses ada/Tiny-GGUF (status 400)"),
    ],
)
def test_what_a_hub_refuses(hub: Hub, answer: object, message: str) -> None:
    hub.server.hub_answers[:] = [answer]  # type: ignore[list-item]
    assert message in hub.refused(f"hf:{REPOSITORY}@v9")
    assert "/revision/v9" in hub.server.requests[0].target


def test_a_hub_in_trouble_is_asked_again(hub: Hub, model: bytes, pauses: list[float]) -> None:
    hub.offer("a.gguf", model)
    hub.server.hub_answers[:] = [refuse(429, retry_after="9"), refuse(503)]
    assert hub.pull(f"hf:{REPOSITORY}").fetched
    assert pauses == [9, 2]


def test_a_hub_that_says_nothing(hub: Hub, pauses: list[float]) -> None:
    hub.web = replace(hub.web, timeout_s=0.1, attempts=2)
    hub.server.hub_answers[:] = [lambda answer: answer.at.ending.wait()] * 3
    assert "no answer from" in hub.refused(f"hf:{REPOSITORY}")
    assert pauses == [1]


def test_an_endpoint_that_is_none(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "nonsense")
    assert "HF_ENDPOINT is nonsense, which is no web address" in hub.refused(f"hf:{REPOSITORY}")


@pytest.mark.parametrize("kind", ["resolve", "blob"])
def test_the_address_of_a_page_of_the_hub_means_its_file(hub: Hub, kind: str) -> None:
    page = f"/{REPOSITORY}/{kind}/main/x/a%20b.gguf?download=true"
    assert source(hub.server.url + page).reference == f"hf:{REPOSITORY}:x/a b.gguf"
    assert source(f"https://huggingface.co{page}").reference == f"hf:{REPOSITORY}:x/a b.gguf"
    other = f"https://huggingface.co/{REPOSITORY}/{kind}/v1/a.gguf"
    assert source(other).reference == f"hf:{REPOSITORY}@v1:a.gguf"
    assert source(f"https://example.org{page}").reference == f"https://example.org{page.partition('?')[0]}"
