"""The site: built strictly, whole, and without anything from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reame_core.cli.app import reame
from reame_core.plugins.forms import hook_arguments
from tests.docs.pages import DOCS, ROOT

FETCHED = {
    "audio": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "script": "src",
    "source": "src",
    "video": "src",
}
"""What a browser loads by itself when a page is opened."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


class Elements(HTMLParser):
    """Every start tag of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def fetched(page: Path) -> Iterator[str]:
    """The addresses that ``page`` loads."""
    for tag, attributes in Elements(page.read_text("utf-8")).found:
        address = attributes.get(FETCHED.get(tag, ""))
        if address and not (tag == "link" and attributes.get("rel") in ("next", "prev", "canonical")):
            yield address
        yield from (each.split()[0] for each in (attributes.get("srcset") or "").split(",") if each.strip())


def test_every_page_is_there(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS).with_suffix(".html")).is_file(), page


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        addresses = list(fetched(page))
        assert addresses
        for address in addresses:
            assert not re.match(r"\w+:|//", address) or address.startswith("data:"), f"{page.name}: {address}"
            if page.name != "404.html":  # written for the root of a server
                assert (page.parent / address.partition("?")[0].partition("#")[0]).exists(), (
                    f"{page}: {address}"
                )


def test_styles_load_nothing_from_elsewhere(site: Path) -> None:
    styles = list(site.rglob("*.css"))
    assert styles
    for style in styles:
        text = style.read_text("utf-8")
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", text), style


def test_the_search_has_its_index_without_a_server(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text("utf-8")
    assert index.startswith("var __index = {")
    assert "propose_draft" in index


def test_every_command_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "command-line.html").read_text("utf-8")
    for name, command in reame.commands.items():
        assert f"<code>reame {name}</code>" in page
        for option in (
            name for parameter in command.params for name in parameter.opts if name.startswith("--")
        ):
            assert option in page, f"{name} {option}"


def test_every_hook_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "hookspecs.html").read_text("utf-8")
    for hook in hook_arguments():
        assert f'id="reame_core.hookspecs.{hook}"' in page


def test_routes_are_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "routes.html").read_text("utf-8")
    for route in ("POST /v1/chat/completions", "GET /health", "POST /tokenize"):
        assert f"<code>{route}</code>" in page
    assert "<code>max_completion_tokens</code>" in page


@pytest.mark.parametrize("picture", sorted(DOCS.rglob("diagrams/*.svg")), ids=lambda path: path.stem)
def test_diagrams_are_readable_in_light_and_dark(picture: Path) -> None:
    """Well-formed, with a title, a description, and colours for both; used by a page."""
    text = picture.read_text("utf-8")
    root = ElementTree.fromstring(text)
    tags = {element.tag.rpartition("}")[2] for element in root}
    assert {"title", "desc", "style"} <= tags
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    for name in ("text", ".card", ".box", ".hook", ".other", ".line", ".soft"):
        assert f" {name} {{" in light
        assert f" {name} {{" in dark
    assert any(f"diagrams/{picture.name}" in page.read_text("utf-8") for page in DOCS.rglob("*.md"))


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_the_search_finds_something_in_a_browser(site: Path, tmp_path: Path) -> None:
    """Opened as a file, where browsers start no worker."""
    ran = subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"),
            *("--virtual-time-budget=20000", "--dump-dom", f"{(site / 'index.html').as_uri()}?q=stutter"),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert re.search(r'class="md-search-result__link"', ran.stdout), ran.stderr[-2000:]
