"""What ``/set`` changes: the settings of ``[sampling]`` and ``[chat]``, with the names, ranges and errors they
have everywhere, and what only the command line knows besides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from reame_core.cli.prompt import check_text
from reame_core.config.keys import keys_of, show_input
from reame_core.engine.request import Request, SamplingParams
from reame_core.errors import ConfigError, UsageError
from reame_core.models.wording import nearest, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reame_core.config import Settings

RESET = "default"
NONE = "none"
SEEDS = (-(1 << 63), (1 << 64) - 1)
SAVED = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "max_tokens", "seed", "stop")
"""What is kept with a conversation, under the names of the API."""


class Option(Protocol):
    """As ``reame_core.config.keys.Key``, as far as a chat needs it."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def expected(self) -> str: ...

    def read(self, value: object) -> object:
        """The checked value of what a file says. Raises ValueError with the end of a sentence."""
        ...

    def read_text(self, text: str) -> object:
        """The checked value of what somebody typed. Raises ValueError with the end of a sentence."""
        ...

    def show(self, value: object) -> str: ...


@dataclass(frozen=True, slots=True)
class SeedOption:
    name: str = "seed"
    description: str = "Same seed, same chat, same answer. `random`: another one for each answer."
    expected: str = f"a whole number from {SEEDS[0]} to {SEEDS[1]}, or random"

    def read(self, value: object) -> int | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not SEEDS[0] <= value <= SEEDS[1]:
            raise ValueError(f"must be {self.expected}, not {show_input(value)}")
        return value

    def read_text(self, text: str) -> int | None:
        if text.strip().lower() == "random":
            return None
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f"must be {self.expected}, not {show_input(text)}") from None
        return self.read(value)

    def show(self, value: object) -> str:
        return "random" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class StopOption:
    name: str = "stop"
    description: str = "End answers before this text."
    expected: str = "a text, or none"

    def read(self, value: object) -> tuple[str, ...]:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
            raise ValueError(f"must be a text or a list of texts, not {show_input(value)}")
        return tuple(check_text(self.name, text, self.name) for text in texts)

    def read_text(self, text: str) -> tuple[str, ...]:
        return () if text == NONE else self.read(text)

    def show(self, value: object) -> str:
        assert isinstance(value, tuple)
        return ", ".join(map(printable, value)) or NONE


@dataclass(frozen=True, slots=True)
class SystemOption:
    """Its value belongs to the conversation."""

    name: str = "system"
    description: str = "Instructions that come before the conversation."
    expected: str = "a text, or none"

    def read(self, value: object) -> str | None:
        if not isinstance(value, str):
            raise ValueError(f"must be {self.expected}, not {show_input(value)}")
        return self.read_text(value)

    def read_text(self, text: str) -> str | None:
        return None if text in ("", NONE) else check_text(self.name, text, self.name)

    def show(self, value: object) -> str:
        return NONE if value is None else printable(value)


SYSTEM = SystemOption()


def _options() -> dict[str, Option]:
    own: list[Option] = [SeedOption(), StopOption(), SYSTEM]
    return {option.name: option for option in (*keys_of("sampling"), *own, *keys_of("chat"))}


class ChatOptions:
    """The values in force; ``system`` is the conversation's, everything else is here."""

    def __init__(self, settings: Settings, *, seed: int | None, stop: tuple[str, ...]) -> None:
        self.known = _options()
        sections = {"sampling": settings.values.sampling, "chat": settings.values.chat}
        self._values: dict[str, object] = {
            key.name: getattr(values, key.name) for name, values in sections.items() for key in keys_of(name)
        }
        self._values |= {"seed": seed, "stop": stop}
        self._initial = dict(self._values)

    def option(self, name: str) -> Option:
        """Raises ConfigError, with the nearest name."""
        found = self.known.get(name.lower().replace("-", "_"))
        if found is None:
            close = nearest(name, self.known, most=1)
            hint = f"did you mean {close[0]}?" if close else "/set lists them"
            raise ConfigError(f"there is no setting {printable(name)}; {hint}")
        return found

    def get(self, name: str) -> object:
        return self._values[name]

    def switched_on(self, name: str) -> bool:
        return self._values[name] is True

    def set(self, option: Option, text: str) -> object:
        """The new value of ``option``, read from ``text`` or what it was at first. Raises ConfigError."""
        if text == RESET:
            self._values[option.name] = self._initial[option.name]
        else:
            self._values[option.name] = read_text(option, text)
        return self._values[option.name]

    def to_save(self) -> dict[str, object]:
        """What a saved conversation says of its sampling."""
        return {name: value for name in SAVED if (value := self._values[name]) not in (None, ())}

    def checked(self, saved: Mapping[str, object]) -> dict[str, object]:
        """Of what a saved conversation says, the part that is known here. Raises ConfigError."""
        values = {}
        for name in SAVED:
            if name not in saved:
                continue
            try:
                values[name] = self.known[name].read(saved[name])
            except ValueError as refusal:
                raise ConfigError(f"{name} {refusal}") from None
        return values

    def take(self, values: Mapping[str, object]) -> None:
        """Use values that ``checked`` gave."""
        self._values |= values

    def request(self, prompt: tuple[int, ...], stops: tuple[str, ...]) -> Request:
        """For an answer to ``prompt``; ``stops`` are the chat template's. Raises InvalidRequest."""
        value = self._values
        sampling = {
            name: value[name] for name in ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "seed")
        }
        most, own_stops = value["max_tokens"], value["stop"]
        assert most is None or isinstance(most, int)
        assert isinstance(own_stops, tuple)
        return Request(
            prompt=prompt,
            max_tokens=most,
            sampling=SamplingParams(**sampling),  # type: ignore[arg-type]  # each was checked by its option
            stop=(*own_stops, *stops),
        )


def read_text(option: Option, text: str) -> object:
    """Raises ConfigError: a sentence that names the setting, what it accepts and what was given."""
    try:
        return option.read_text(text)
    except UsageError:
        raise
    except ValueError as refusal:
        raise ConfigError(f"{option.name} {refusal}") from None
