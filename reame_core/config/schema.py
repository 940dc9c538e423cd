"""The settings there are: one struct a section, with type, range, default and meaning of each key.

Everything else about settings (environment names, error texts, the reference in the documentation) is
derived from these structs. ``extra`` may hold ``none``, the word that stands for None, and ``path``, for
texts that name a file or folder.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

MAX_CONTEXT = 16_777_216


Names = tuple[Annotated[str, Meta(min_length=1)], ...]


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections."""


class ModelSettings(Section, frozen=True):
    path: Annotated[
        str | None,
        Meta(
            description="The model for commands that name none: a GGUF file or a catalogue name.",
            extra={"path": True},
        ),
    ] = None
    context_length: Annotated[
        Annotated[int, Meta(ge=8, le=MAX_CONTEXT)] | None,
        Meta(
            description="Tokens one sequence can hold, prompt and answer. `auto`: what the model was "
            "trained for, at most 4096.",
            extra={"none": "auto"},
        ),
    ] = None
    threads: Annotated[
        Annotated[int, Meta(ge=-1, le=1024)] | None,
        Meta(
            description="Threads that compute. `auto` (also 0 and -1): what the CPU quota and affinity allow.",
            extra={"none": "auto"},
        ),
    ] = None
    kv_cache_type: Annotated[
        Literal["f16", "q8_0", "q4_0"],
        Meta(description="How KV cells are stored: `q8_0` and `q4_0` take half and a quarter of the memory."),
    ] = "f16"
    mmap: Annotated[bool, Meta(description="Map the model file into memory instead of reading it.")] = True
    mlock: Annotated[bool, Meta(description="Keep the model from being swapped out.")] = False
    folder: Annotated[
        str | None,
        Meta(
            description="Where models are kept. By default `~/.reame/models`, or `models` in `REAME_HOME`.",
            extra={"path": True},
        ),
    ] = None
    catalogue: Annotated[
        str | None,
        Meta(
            description="A file of further models by name, beside `models.toml` in the user's configuration "
            "directory.",
            extra={"path": True},
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.threads in (0, -1):
            force_setattr(self, "threads", None)


class EngineSettings(Section, frozen=True):
    parallel: Annotated[
        Annotated[int, Meta(ge=1, le=64)],
        Meta(description="Sequences that are computed at the same time."),
    ] = 4
    stall_ms: Annotated[
        Annotated[float, Meta(ge=1, le=60_000)],
        Meta(
            description="Longest delay in milliseconds that one user's prompt may cause to the others' "
            "next token."
        ),
    ] = 200.0
    exact: Annotated[
        bool,
        Meta(description="Use only batch shapes whose rows are bit-identical to each other."),
    ] = False
    adapt_threads: Annotated[
        bool,
        Meta(
            description="Beside busy processes, compute with as many threads as are fastest there. Never in "
            "exact mode."
        ),
    ] = True
    tune: Annotated[
        bool,
        Meta(
            description="Try once per host and model what is fastest. Off: use what was found before, else the "
            "safe defaults."
        ),
    ] = True
    extra_buffers: Annotated[
        Literal["auto", "on", "off"],
        Meta(description="llama.cpp's repacked weights. `auto`: what is fastest here, by `tune`."),
    ] = "auto"
    flash_attention: Annotated[
        Literal["auto", "on", "off"],
        Meta(
            description="llama.cpp's fused attention. Without it one row rounds otherwise than several, so "
            "that answers differ more often at ties; some models draft faster. `auto`: what is fastest here, "
            "by `tune`. Always on in exact mode and for quantised KV cells, which need it."
        ),
    ] = "on"
    max_rows: Annotated[
        Annotated[int, Meta(ge=1, le=4096)],
        Meta(description="Rows in one batch."),
    ] = 512
    resident: Annotated[
        Annotated[int, Meta(ge=0, le=200)],
        Meta(description="Finished sequences that may stay in memory for reuse."),
    ] = 32
    kv_cells: Annotated[
        Annotated[int, Meta(ge=8, le=1 << 30)] | None,
        Meta(
            description="Cells of KV memory, shared by all sequences. `auto`: context length times "
            "`parallel`, less where memory is short.",
            extra={"none": "auto"},
        ),
    ] = None
    queue: Annotated[
        Annotated[int, Meta(ge=0, le=100_000)],
        Meta(description="Requests that may wait; more are refused."),
    ] = 256
    max_draft: Annotated[
        Annotated[int, Meta(ge=0, le=512)],
        Meta(description="Tokens in one draft; 0 turns speculation off."),
    ] = 64


class SamplingSettings(Section, frozen=True):
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=100)],
        Meta(description="0 always takes the most probable token; higher is more random."),
    ] = 0.0
    top_k: Annotated[
        Annotated[int, Meta(ge=0, le=1 << 31)],
        Meta(description="Keep the k most probable tokens; 0 keeps all."),
    ] = 0
    top_p: Annotated[
        Annotated[float, Meta(gt=0, le=1)],
        Meta(description="Keep the smallest set of most probable tokens that holds this much probability."),
    ] = 1.0
    min_p: Annotated[
        Annotated[float, Meta(ge=0, le=1)],
        Meta(description="Keep tokens at least this fraction as probable as the most probable one."),
    ] = 0.0
    repeat_penalty: Annotated[
        Annotated[float, Meta(gt=0, le=10)],
        Meta(description="Above 1, tokens of the recent text become less probable."),
    ] = 1.0
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1, le=1 << 31)] | None,
        Meta(
            description="Tokens to generate at most. `unlimited`: to the end of the context.",
            extra={"none": "unlimited"},
        ),
    ] = None


class ChatSettings(Section, frozen=True):
    markdown: Annotated[
        bool, Meta(description="Show answers as formatted Markdown; else as the text that they are.")
    ] = True
    status: Annotated[
        bool, Meta(description="Say after each answer how fast it came and how much was remembered.")
    ] = True
    history: Annotated[
        bool,
        Meta(
            description="Keep what is typed for the arrow keys of later chats, in a file that only its owner "
            "can read."
        ),
    ] = True
    drop_oldest: Annotated[
        bool,
        Meta(description="Forget the oldest turns where the context is full, instead of asking what to do."),
    ] = False


class ServerSettings(Section, frozen=True):
    host: Annotated[str, Meta(min_length=1, description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[
        Annotated[int, Meta(ge=0, le=65_535)],
        Meta(description="Port to listen on; 0 takes any free one."),
    ] = 8080
    api_key: Annotated[
        Names,
        Meta(description="Keys that clients must send, each `KEY` or `NAME:KEY`; empty asks for none."),
    ] = ()
    keys_file: Annotated[
        str | None,
        Meta(description="File with further keys, one a line, `KEY` or `NAME:KEY`.", extra={"path": True}),
    ] = None
    allow_public: Annotated[
        bool, Meta(description="Listen on an address that other machines reach although no key is set.")
    ] = False
    isolate_keys: Annotated[
        bool,
        Meta(
            description="What was computed for one key is never reused for another, so that nobody can find "
            "out by timing or `cached_tokens` what others have sent."
        ),
    ] = False
    aliases: Annotated[
        Names, Meta(description="Names that requests may use for the model besides its own.")
    ] = ()
    any_model: Annotated[
        bool, Meta(description="Answer requests for any model name with the one model there is.")
    ] = False
    cors_origins: Annotated[
        Names,
        Meta(
            description="Origins whose web pages may use the server, such as `https://chat.example.org`; `*` "
            "for all."
        ),
    ] = ()
    max_body_mb: Annotated[
        Annotated[float, Meta(ge=0.001, le=4096)],
        Meta(description="Largest request body in megabytes."),
    ] = 32.0
    keep_alive_s: Annotated[
        Annotated[float, Meta(ge=0.01, le=3600)],
        Meta(description="Seconds of silence in a stream after which a comment line keeps it alive."),
    ] = 10.0
    reader_timeout_s: Annotated[
        Annotated[float, Meta(ge=0.01, le=86_400)],
        Meta(description="Seconds that a client may leave its stream unread before it is cut off."),
    ] = 120.0
    request_timeout_s: Annotated[
        Annotated[float, Meta(ge=0.01, le=604_800)] | None,
        Meta(
            description="Seconds that a request may take in all, waiting included.",
            extra={"none": "unlimited"},
        ),
    ] = None
    grace_s: Annotated[
        Annotated[float, Meta(ge=0, le=86_400)],
        Meta(description="Seconds that running requests have to finish after SIGTERM."),
    ] = 30.0
    metrics: Annotated[
        Literal["on", "open", "off"],
        Meta(
            description="`/metrics` and the status page: `on` asks for a key where there are any, `open` never."
        ),
    ] = "on"
    log_format: Annotated[
        Literal["console", "json"], Meta(description="How the log on standard error is written.")
    ] = "console"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The least important lines to log.")
    ] = "info"
    log_prompts: Annotated[
        bool, Meta(description="Log the texts of prompts and answers, which are otherwise never logged.")
    ] = False


class PluginSettings(Section, frozen=True):
    disable: Annotated[
        Names, Meta(description="Plugins, by plugin or distribution name, that are not even imported.")
    ] = ()
    only: Annotated[
        Names | None,
        Meta(
            description="The only plugins to use; an empty list means none. `all`: every installed one.",
            extra={"none": "all"},
        ),
    ] = None
    order: Annotated[Names, Meta(description="Plugins to ask first, in this order.")] = ()
    strict: Annotated[
        bool, Meta(description="Refuse to start when a plugin fails to load, instead of going on without it.")
    ] = False
    folder: Annotated[
        str | None,
        Meta(description="Folder of one-file plugins.", extra={"path": True}),
    ] = None
    tables: dict[str, dict[str, Any]] = {}
    """The tables ``[plugins.NAME]`` as written; each plugin checks its own."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All effective settings."""

    model: ModelSettings = ModelSettings()
    engine: EngineSettings = EngineSettings()
    sampling: SamplingSettings = SamplingSettings()
    chat: ChatSettings = ChatSettings()
    server: ServerSettings = ServerSettings()
    plugins: PluginSettings = PluginSettings()
