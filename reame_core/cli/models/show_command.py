"""``reame show``: all that is known of one model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from reame_core.cli.manual import Command
from reame_core.cli.models.completion import complete_model
from reame_core.cli.models.environment import FOLDERS
from reame_core.cli.options import plugin_options, settings_of
from reame_core.cli.terminal import one_line, write

if TYPE_CHECKING:
    from pathlib import Path

    from reame_core.models.catalogue import Catalogue, Entry
    from reame_core.models.catalogue.needs import Needs


@click.command(cls=Command, short_help="Show what is known of a model.", environment=FOLDERS)
@click.argument("model", shell_complete=complete_model)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plugin_options
@click.pass_context
def show(ctx: click.Context, *, model: str, as_json: bool) -> None:
    """Show what is known of MODEL: where it comes from, where it is, its size, context, licence and memory.

    Of a model that is here its file is asked, of others the catalogue.
    """
    from reame_core.cli.models.names import catalogue_of
    from reame_core.models.catalogue import ModelNotHere, find_entry, resolve

    catalogue = catalogue_of(settings_of(ctx))
    try:
        path: Path | None = resolve(model, catalogue).path
    except ModelNotHere:
        path = None
    entry = None if path is not None and _is_path(model, catalogue) else find_entry(model, catalogue)
    facts = _facts(entry, path, catalogue)
    if as_json:
        write(json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
        return
    shown = [(name, text) for name, text in _texts(facts).items() if text]
    width = max(len(name) for name, _ in shown)
    write("".join(f"{name:<{width}}  {one_line(text)}\n" for name, text in shown))


def _is_path(model: str, catalogue: Catalogue) -> bool:
    from reame_core.models.sources import is_reference

    return not is_reference(model) and catalogue.find(model) is None


def _facts(entry: Entry | None, path: Path | None, catalogue: Catalogue) -> dict[str, object]:
    """By what the file says where it is here, else by the catalogue."""
    facts: dict[str, object] = {}
    if entry is not None:
        known = entry.facts
        receipt = catalogue.receipt(entry)
        facts = {
            "name": entry.name or None,
            "source": receipt.reference if receipt else entry.source.reference,
            "named by": entry.origin,
            "suits": known.suits,
            "licence": known.licence,
            "quantisation": known.quantisation,
            "parameters": known.parameters,
            "context": known.context,
            "size": known.size,
            "sha256": [file.sha256 for file in receipt.files] if receipt else known.sha256 and [known.sha256],
        }
    return facts | _file_facts(path) | _memory(entry, path)


def _file_facts(path: Path | None) -> dict[str, object]:
    if path is None:
        return {"path": None}
    from reame_core.models.gguf import describe, number, parameters, quantisation, read_header

    header = read_header(path)
    return {
        "path": str(path),
        "files": len(header.files),
        "description": describe(header),
        "quantisation": quantisation(header),
        "parameters": parameters(header),
        "context": number(header, "{arch}.context_length"),
        "size": header.file_size,
        "chat template": "tokenizer.chat_template" in header.metadata,
    }


def _memory(entry: Entry | None, path: Path | None) -> dict[str, object]:
    from reame_core.host.memory import COMPUTE_BYTES, available_memory
    from reame_core.models.catalogue.needs import estimated_needs, needs_of_file

    needs: Needs | None = None
    if path is not None:
        needs = needs_of_file(path)
    elif entry is not None:
        needs = estimated_needs(entry.facts)
    if needs is None:
        return {}
    available = available_memory()
    return {
        "memory": {
            "total": needs.total,
            "weights": needs.weights,
            "kv": needs.kv,
            "context": needs.context,
            "computing": COMPUTE_BYTES,
            "estimated": path is None,
        },
        "fits": needs.fit(available).value,
        "available": available,
    }


def _texts(facts: dict[str, object]) -> dict[str, str]:
    """For people: sizes with units, figures that belong together in one line."""
    from reame_core.host.memory import byte_count

    texts = {name: str(value) for name, value in facts.items() if value is not None}
    if facts["path"] is None:
        texts["path"] = "not on this machine (reame pull fetches it)"
    if "chat template" in facts:
        texts["chat template"] = "yes" if facts["chat template"] else "none: a plain form is used"
    if texts.get("files") == "1":
        del texts["files"]
    parameters = facts.get("parameters")
    if isinstance(parameters, int):
        texts["parameters"] = f"{parameters / 1e9:.2f} B" if parameters >= 1e9 else f"{parameters / 1e6:.0f} M"
    if isinstance(facts.get("size"), int):
        texts["size"] = byte_count(int(str(facts["size"])))
    if isinstance(facts.get("sha256"), list):
        texts["sha256"] = ", ".join(facts["sha256"])  # type: ignore[arg-type]
    memory = facts.get("memory")
    if isinstance(memory, dict):
        about = "about " if memory["estimated"] else ""
        texts["memory"] = (
            f"{about}{byte_count(memory['total'])} for one conversation of {memory['context']} tokens (weights "
            f"{byte_count(memory['weights'])}, KV memory {byte_count(memory['kv'])}, computing "
            f"{byte_count(memory['computing'])})"
        )
        texts["fits"] = f"{facts['fits']} ({byte_count(int(texts.pop('available')))} is free)"
    return texts
