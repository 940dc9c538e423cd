"""What a person reads when the server has started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reame_core.server.listener import is_loopback

if TYPE_CHECKING:
    from reame_core.server.state import ServedModel, ServerState


def banner(server: ServerState, model: ServedModel, address: str, seconds: float) -> list[str]:
    """Lines for the terminal."""
    info = model.info
    entries = [("model", f"{info.name} ({info.description})" if info.description else info.name)]
    entries += [(name, str(value)) for name, value in model.description.items() if name != "model"]
    entries.append(("plugins", _plugins(model)))
    entries.append(("keys", _keys(server)))
    if server.settings.metrics != "off":
        entries.append(("metrics", f"{address}/metrics"))
    entries.append(("address", f"{address}/v1"))
    width = max(len(name) for name, _ in entries)
    lines = [f"  {name:<{width}}  {text}" for name, text in entries]
    return [f"reame is ready ({seconds:.1f} s)", *lines, "", *_example(server, info.name, address)]


def _plugins(model: ServedModel) -> str:
    active = [report.name for report in model.plugins.report() if report.state == "active"]
    others = [name for name in active if name != "core"]
    return ", ".join(others) or "none"


def _keys(server: ServerState) -> str:
    if server.keys:
        shared = "each with a cache of its own" if server.settings.isolate_keys else "sharing one cache"
        return f"{len(server.keys)}, {shared}" if len(server.keys) > 1 else "1"
    if is_loopback(server.settings.host):
        return "none (only this machine can connect)"
    return "NONE, AND OTHER MACHINES CAN CONNECT"


def _example(server: ServerState, name: str, address: str) -> list[str]:
    key = ' -H "Authorization: Bearer $KEY"' if server.keys else ""
    body = f'{{"model": "{name}", "messages": [{{"role": "user", "content": "Hello!"}}]}}'
    return [f"  curl {address}/v1/chat/completions{key} -d '{body}'", ""]
