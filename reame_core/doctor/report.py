"""The examination in plain words, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from reame_core.doctor.examination import Host, Patient
from reame_core.doctor.variants import gain
from reame_core.host.memory import byte_count
from reame_core.llama.trials import Outcome

Facts = list[tuple[str, str]]


def host_facts(host: Host) -> Facts:
    """Names and texts for a table of two columns."""
    machine = host.machine
    threads = f"{_count(machine.threads, 'thread')} to compute ({machine.threads_why})"
    facts = [
        ("system", machine.system + (", a virtual machine" if machine.virtual else "")),
        ("processor", machine.cpu),
        ("processors", f"{machine.logical}; {threads}"),
        ("memory", f"{byte_count(machine.memory)}, {byte_count(machine.memory_free)} free"),
    ]
    if machine.memory_left is not None:
        facts.append(("memory limit", f"a control group allows {byte_count(machine.memory_left)} more"))
    facts += [
        (f"disk for {name}", f"{byte_count(free)} free in {folder}")
        for name, (folder, free) in host.folders.items()
    ]
    facts.append(("llama.cpp", f"{host.build.rsplit(' ', 2)[0]}: {_used(host.build_features)}"))
    return facts


def model_facts(patient: Patient) -> Facts:
    """As ``host_facts``: what was chosen for the model, why, and what to expect."""
    chosen = patient.chosen
    facts = [("file", byte_count(patient.header.file_size))]
    if patient.disk is not None:
        seconds = patient.header.file_size / patient.disk
        facts.append(
            ("read from disk", f"{byte_count(int(patient.disk))} a second: {seconds:.1f} s after a reboot")
        )
    facts += [
        ("weights", _why_weights(patient)),
        ("threads", str(chosen.setup.threads)),
    ]
    if chosen.speed is not None:
        facts += [
            ("answers", f"{_speeds(chosen)[0]} tokens a second for one user, before anything is remembered"),
            ("prompts", f"{_speeds(chosen)[1]} tokens a second, the first time"),
        ]
    users = _count(patient.parallel, "conversation")
    facts.append(("memory", f"{byte_count(patient.memory)} with {users} of {patient.context} tokens, all full"))
    return facts


def trial_rows(patient: Patient) -> Iterator[tuple[str, str, str, str]]:
    """What was tried: label, tokens a second, prompt tokens a second, and what became of it."""
    for outcome in patient.tuning.outcomes:
        setup = outcome.setup
        label = f"weights {setup.buffers.label}, {_count(setup.threads, 'thread')}"
        yield (label, *_speeds(outcome), "chosen" if outcome is patient.chosen else outcome.failure)
    for variant, outcome in patient.others:
        factor = gain(patient.chosen, outcome)
        yield (
            f"… {variant.label}",
            *_speeds(outcome),
            outcome.failure if factor is None else f"{factor:.2f} times as fast as chosen",
        )


def as_data(host: Host, patient: Patient | None) -> dict[str, object]:
    """For programs."""
    machine = asdict(host.machine)
    machine["features"] = sorted(host.machine.features)
    data: dict[str, object] = {
        "machine": machine,
        "llama_cpp": {"build": host.build, "features": host.build_features},
        "busy_neighbours": round(host.neighbours, 2),
        "folders": {name: {"path": str(path), "free": free} for name, (path, free) in host.folders.items()},
        "remarks": host.remarks,
    }
    if patient is not None:
        data["model"] = {
            "name": patient.name,
            "file_bytes": patient.header.file_size,
            "disk_bytes_per_second": patient.disk,
            "memory_bytes": patient.memory,
            "chosen": _outcome(patient.chosen),
            "tried": [_outcome(outcome) for outcome in patient.tuning.outcomes],
            "others": [{"label": variant.label, **_outcome(outcome)} for variant, outcome in patient.others],
            "remarks": patient.remarks,
        }
    return data


def _outcome(outcome: Outcome) -> dict[str, object]:
    speed = outcome.speed
    return {
        "setup": asdict(outcome.setup) | {"buffers": outcome.setup.buffers.label},
        "tokens_per_second": speed and round(1000 / speed.decode_ms, 2),
        "prompt_tokens_per_second": speed and round(1000 / speed.prefill_ms, 1),
        "failure": outcome.failure or None,
    }


def _why_weights(patient: Patient) -> str:
    chosen = patient.chosen
    label = chosen.setup.buffers.label
    if chosen.speed is None:
        return f"{label}: nothing that was tried works on this machine"
    if label == "off":
        return "as in the file: no other layout is clearly faster here"
    plain = next((o for o in patient.tuning.outcomes if o.setup.buffers.label == "off"), None)
    factor = gain(plain, chosen) if plain is not None else None
    why = f", {factor:.2f} times as fast as plain ones for a usual request" if factor else ""
    return f"{label}{why}; up to {byte_count(patient.copied)} of them are a copy in another layout"


def _speeds(outcome: Outcome) -> tuple[str, str]:
    if outcome.speed is None:
        return "", ""
    return f"{1000 / outcome.speed.decode_ms:.1f}", f"{1000 / outcome.speed.prefill_ms:.0f}"


def _used(features: str) -> str:
    """``CPU : AVX2 = 1 | FMA = 1`` as ``AVX2, FMA``."""
    named = (part.split("=") for part in features.replace("CPU :", "").split("|") if "=" in part)
    return ", ".join(name.strip() for name, value in named if value.strip() != "0")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
