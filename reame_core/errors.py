"""Everything Reame raises on purpose.

    ReameError
    ├── UsageError               the caller can mend it: one line, exit code 2, HTTP 4xx
    │   ├── InvalidRequest       a field of a request (``param`` names it)
    │   │   └── ContextLengthExceeded
    │   ├── ConfigError          reame.toml, an environment variable, a flag
    │   ├── ModelError           missing, damaged, foreign or unloadable model file
    │   │   └── UnknownModel
    │   ├── NotEnoughMemory      the context asked for does not fit in memory
    │   └── PluginError          a plugin that cannot be used as asked
    ├── Cancelled                the request was cancelled by its owner
    └── EngineError              our fault or llama.cpp's: a request failed, the server goes on

The message of each is one line that says what is wrong and what to do about it.
"""

from __future__ import annotations


class ReameError(Exception):
    """Base of all errors raised on purpose."""


class UsageError(ReameError):
    """Something the caller can mend. The command line exits with 2, HTTP answers 4xx."""


class InvalidRequest(UsageError):
    """A request field with a value that cannot be served.

    ``param`` is the field's public name, such as ``temperature``; ``code`` is the machine-readable
    reason in the spelling of the OpenAI API, or None.
    """

    code: str | None = None

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class ContextLengthExceeded(InvalidRequest):
    """The prompt alone does not leave room for one generated token."""

    code = "context_length_exceeded"

    def __init__(self, prompt_tokens: int, context_length: int, *, param: str = "prompt") -> None:
        super().__init__(
            f"the prompt has {prompt_tokens} tokens and the context holds {context_length}, of which at "
            f"least one must stay free for the answer: shorten the prompt by "
            f"{prompt_tokens - context_length + 1} tokens or raise model.context_length",
            param=param,
        )
        self.prompt_tokens = prompt_tokens
        self.context_length = context_length


class ConfigError(UsageError):
    """A setting that is unknown, of the wrong type or out of range, with its origin."""


class ModelError(UsageError):
    """A model file that cannot be used: missing, damaged, not a GGUF, not readable."""


class UnknownModel(ModelError):
    """A model name that is neither in the catalogue nor a path."""


class NotEnoughMemory(UsageError):
    """The context asked for does not fit; the message says what would."""


class PluginError(UsageError):
    """A plugin that is unknown, fails to load in strict mode, or has hooks of the wrong form."""


class Cancelled(ReameError):
    """The request was cancelled by its owner before it finished."""


class EngineError(ReameError):
    """A request failed through no fault of its caller; other requests are not affected."""
