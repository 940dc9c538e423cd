"""``reame run``: what is asked of the session, what goes where."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from reame_core.cli.app import reame
from reame_core.engine.events import Failed, Finished, TextDelta, Timings, TokenLogprob, Usage
from reame_core.errors import ContextLengthExceeded, EngineError, NotEnoughMemory, UnknownModel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Invoke = Callable[..., Result]


def ending(choice: int = 0, **usage: Any) -> Finished:
    counted = Usage(**({"prompt": 5, "completion": 3, "computed": 5} | usage))
    return Finished(choice, "stop", counted, Timings(queued=1.0, prefill=50.0, decode=100.0), "\n")


def text(choice: int, content: str) -> TextDelta:
    return TextDelta(choice, content, (1,))


def error_of(result: Result, code: int = 2) -> str:
    """The one line of an error."""
    assert result.exit_code == code, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("error: ").removesuffix("\n")


def test_the_answer_alone_is_on_stdout(session: Any, invoke: Invoke) -> None:
    result = invoke("run", "tiny", "Name colours.")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "Red, blue.\n", "")
    assert session.model == "tiny"
    assert session.messages == [[{"role": "user", "content": "Name colours."}]]
    assert session.requests[0].prompt == (1, 2, 3)
    assert session.log == ["stream closed", "session closed"]


def test_the_answer_is_streamed(session: Any, invoke: Invoke) -> None:
    session.stdout_now = lambda: sys.stdout.buffer.getvalue().decode()  # type: ignore[attr-defined]
    invoke("run", "tiny", "Name colours.")
    assert session.written_by_step == ["", "Red, ", "Red, blue."]


def test_a_system_text_comes_first(session: Any, invoke: Invoke) -> None:
    invoke("run", "tiny", "Hi", "--system", "Be brief.")
    assert session.messages == [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]]


def test_raw_skips_the_template(session: Any, invoke: Invoke) -> None:
    invoke("run", "tiny", "Once upon", "--raw")
    assert session.raw == ["Once upon"]
    assert session.requests[0].prompt == (4, 5)
    assert error_of(invoke("run", "tiny", "x", "--raw", "--system", "y")).startswith("--system needs the chat")


@pytest.mark.parametrize("arguments", [[], ["-"]])
@pytest.mark.parametrize(
    ("stdin", "prompt"),
    [("Hi", "Hi"), ("Hi\n", "Hi"), ("Hi\r\n", "Hi"), ("Hi\n\n", "Hi\n"), ("Hi\r", "Hi\r"), ("é ", "é ")],
)
def test_the_prompt_may_come_from_stdin(
    arguments: list[str], stdin: str, prompt: str, session: Any, invoke: Invoke
) -> None:
    assert invoke("run", "tiny", *arguments, stdin=stdin.encode()).exit_code == 0
    assert session.messages[0][-1]["content"] == prompt


def test_stdin_is_left_alone_where_a_prompt_is_given(session: Any, invoke: Invoke) -> None:
    invoke("run", "tiny", "argument", stdin="stdin")
    assert session.messages[0][-1]["content"] == "argument"


def test_a_terminal_is_not_waited_for(session: Any, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reame_core.cli.prompt.is_terminal", lambda stream: stream is sys.stdin)
    assert error_of(invoke("run", "tiny")) == "no prompt: give one after the model, or pipe it in"
    assert session.model == ""


def test_settings_and_flags_make_the_request(session: Any, invoke: Invoke, alone: Path) -> None:
    (alone / "reame.toml").write_text("[sampling]\ntemperature = 0.5\ntop_k = 7\nmin_p = 0.1\n")
    result = invoke(
        "run", "tiny", "Hi", "--top-k", "9", "--top-p", "0.5", "--repeat-penalty", "1.1", "--max-tokens", "8",
        "--seed", "-3", "--stop", "a", "--stop", "b", "-n", "2",
    )  # fmt: skip
    (request,) = session.requests
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p) == (0.5, 9, 0.5, 0.1)
    assert (sampling.repeat_penalty, sampling.seed) == (1.1, -3)
    assert (request.max_tokens, request.n, request.stop) == (8, 2, ("a", "b"))
    # The fake session ended one of the two choices only.
    assert error_of(result, 1).startswith("1 of 2 answers failed")


def test_the_session_gets_the_settings(session: Any, invoke: Invoke, alone: Path) -> None:
    (alone / "mine").mkdir()
    for name in ("a", "b"):
        (alone / "mine" / f"{name}.py").write_text("")
    plugins = ["--plugins-dir", "mine", "--no-plugin", "a", "--no-plugin", "b"]
    invoke("run", "tiny", "Hi", "--threads", "3", "--context-length", "99", *plugins)
    assert session.settings.values.model.threads == 3
    assert session.settings.values.model.context_length == 99
    assert str(session.settings.origin("model.threads")) == "flag --threads"
    assert session.selection.disable == ("a", "b")
    assert str(session.selection.folder) == "mine"


@pytest.mark.parametrize(("count", "parallel"), [(1, 1), (3, 3), (9, 4)])
def test_no_more_is_computed_in_parallel_than_asked_for(
    count: int, parallel: int, session: Any, invoke: Invoke
) -> None:
    session.steps = [ending(choice) for choice in range(count)]
    assert invoke("run", "tiny", "Hi", "-n", str(count)).exit_code == 0
    assert session.parallel == parallel


def test_answers_follow_each_other_in_order(session: Any, invoke: Invoke) -> None:
    session.stdout_now = lambda: sys.stdout.buffer.getvalue().decode()  # type: ignore[attr-defined]
    session.steps = [
        text(1, "two"),
        text(0, "one"),
        ending(2),
        text(0, " more"),
        ending(0),
        text(1, " more"),
        ending(1),
    ]
    result = invoke("run", "tiny", "Hi", "-n", "3")
    assert result.stdout == "one more\n\ntwo more\n\n\n"
    assert session.written_by_step == [
        "", "", "one", "one", "one more", "one more\n\ntwo", "one more\n\ntwo more",
    ]  # fmt: skip
    assert result.stderr == ""


def test_answers_are_numbered_on_stderr(session: Any, invoke: Invoke) -> None:
    session.steps = [text(0, "one"), ending(0), text(1, "two"), ending(1)]
    result = invoke("run", "tiny", "Hi", "-n", "2", "-v")
    headings = [line for line in result.stderr.splitlines() if line.startswith("---")]
    assert headings == ["--- choice 1 ---", "--- choice 2 ---"]
    assert result.stdout == "one\n\ntwo\n"


def test_verbose_reports_what_happened(session: Any, invoke: Invoke) -> None:
    session.steps = [
        text(0, "x"),
        ending(
            prompt=300,
            computed=100,
            completion=21,
            reused={"ram": 150, "diskkv": 50},
            drafts={"palimpsest": (9, 4)},
        ),
    ]
    result = invoke("run", "tiny", "Hi", "-v", "--seed", "7", "--temperature", "1")
    assert result.stdout == "x\n"
    lines = [" ".join(line.split()) for line in result.stderr.splitlines()]
    assert lines[:5] == ["loading tiny", "name tiny", "threads 2", "extra buffers off", "seed 7"]
    assert "prompt 300 tokens: 100 computed, 150 reused (ram), 50 reused (diskkv)" in lines
    assert "prefill 50 ms, 2000.0 tokens/s" in lines
    assert "decode 21 tokens, 100 ms, 200.0 tokens/s" in lines
    assert "drafts 4 of 9 tokens accepted" in lines


def test_speeds_without_time_are_left_out(session: Any, invoke: Invoke) -> None:
    usage = Usage(prompt=2, completion=1, computed=0, reused={"ram": 2})
    session.steps = [text(0, "x"), Finished(0, "length", usage, Timings(0.0, 0.0, 0.0))]
    result = invoke("run", "tiny", "Hi", "-v")
    assert result.exit_code == 0
    assert "tokens/s" not in result.stderr


def test_a_drawn_seed_is_told(session: Any, invoke: Invoke) -> None:
    result = invoke("run", "tiny", "Hi", "-v", "--temperature", "1")
    drawn = session.requests[0].sampling.seed
    assert drawn is not None
    assert f" {drawn}\n" in result.stderr
    invoke("run", "tiny", "Hi", "--temperature", "1")
    assert session.requests[1].sampling.seed != drawn


def test_greedy_answers_have_no_seed(session: Any, invoke: Invoke) -> None:
    result = invoke("run", "tiny", "Hi", "-v")
    assert session.requests[0].sampling.seed is None
    assert "seed" not in result.stderr


def test_json_is_one_object(session: Any, invoke: Invoke) -> None:
    top = TokenLogprob(7, -0.5, ((7, -0.5), (8, float("-inf"))))
    session.steps = [
        TextDelta(0, "Rosso è", (7,), (top,)),
        text(1, "Blu"),
        ending(0, prompt=9, computed=4, completion=2, reused={"ram": 5}),
        ending(1, prompt=9, computed=0, completion=1, reused={"ram": 9}),
    ]
    result = invoke(
        "run", "tiny", "Hi", "-n", "2", "--json", "--logprobs", "2", "--temperature", "1", "--seed", "3"
    )
    assert result.stderr == ""
    assert "è" in result.stdout
    answer = json.loads(result.stdout, parse_constant=pytest.fail)
    assert answer["model"] == "tiny"
    assert [choice["text"] for choice in answer["choices"]] == ["Rosso è", "Blu"]
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["choices"][0]["logprobs"] == [
        {"token": 7, "logprob": -0.5, "top": [{"token": 7, "logprob": -0.5}, {"token": 8, "logprob": None}]}
    ]
    assert "logprobs" not in answer["choices"][1]
    assert answer["usage"] == {
        "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12, "computed_tokens": 4,
        "drafted_tokens": 0, "accepted_tokens": 0,
    }  # fmt: skip
    assert answer["reused"] == {"ram": 14}
    assert answer["timings"]["prefill_ms"] == 50
    assert answer["seed"] == 3
    assert answer["session"] == {"threads": 2, "extra_buffers": False}
    assert session.requests[0].logprobs == 2


def test_json_tells_of_the_choice_that_failed(session: Any, invoke: Invoke) -> None:
    session.steps = [text(0, "good"), ending(0), text(1, "ba"), Failed(1, EngineError("out of luck"))]
    result = invoke("run", "tiny", "Hi", "-n", "2", "--json")
    assert error_of(result, 1) == "1 of 2 answers failed, the first with: out of luck"
    good, bad = json.loads(result.stdout)["choices"]
    assert good["text"] == "good"
    assert bad == {"index": 1, "text": "ba", "finish_reason": None, "error": "out of luck"}


def test_json_of_nothing_is_nothing(session: Any, invoke: Invoke) -> None:
    session.steps = [Failed(0, EngineError("out of luck"))]
    result = invoke("run", "tiny", "Hi", "--json")
    assert result.stdout == ""
    assert error_of(result, 1) == "out of luck"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UnknownModel("no model 'tiny'"), 2, "no model 'tiny'"),
        (NotEnoughMemory("needs 9 GB"), 2, "needs 9 GB"),
        (EngineError("llama.cpp gave up"), 1, "llama.cpp gave up"),
        (EngineError("/tmp/a\nb\x1b[2J"), 1, "/tmp/a\\nb\\x1b[2J"),
        (MemoryError(), 1, "out of memory"),
        (PermissionError(13, "Permission denied", "/x"), 1, "/x: Permission denied"),
        (ValueError("odd"), 1, "ValueError: odd (a bug; REAME_DEBUG=1 shows where)"),
        (KeyError(), 1, "KeyError (a bug; REAME_DEBUG=1 shows where)"),
    ],
)
@pytest.mark.parametrize("when", ["loading", "streaming"])
def test_errors_are_one_line(
    when: str, error: Exception, code: int, message: str, session: Any, invoke: Invoke
) -> None:
    if when == "loading":
        session.load_error = error
    else:
        session.steps = [error]
    result = invoke("run", "tiny", "Hi")
    assert error_of(result, code) == message
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ContextLengthExceeded(600, 512), 2, "the prompt has 600 tokens and the context holds 512"),
        (EngineError("the batch failed"), 1, "the batch failed"),
        (ValueError("odd"), 1, "ValueError: odd"),
    ],
)
def test_a_choice_that_fails_fails_the_command(
    error: Exception, code: int, message: str, session: Any, invoke: Invoke
) -> None:
    session.steps = [text(0, "half an ans"), Failed(0, error)]
    result = invoke("run", "tiny", "Hi")
    assert error_of(result, code).startswith(message)
    assert result.stdout == "half an ans\n"


def test_a_stream_that_just_ends_is_an_error(session: Any, invoke: Invoke) -> None:
    session.steps = [text(0, "half")]
    result = invoke("run", "tiny", "Hi")
    assert error_of(result, 1) == "the engine stopped before the answer was complete"
    assert result.stdout == "half\n"


def test_the_traceback_is_there_for_those_who_debug(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REAME_DEBUG", "1")
    session.load_error = EngineError("gave up")
    result = CliRunner().invoke(reame, ["run", "tiny", "Hi"])
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("\nerror: gave up\n")


@pytest.mark.parametrize("steps", [[KeyboardInterrupt()], [TextDelta(0, "half", (1,)), KeyboardInterrupt()]])
def test_an_interrupt_cancels(steps: list[Any], session: Any, invoke: Invoke) -> None:
    session.steps = steps
    result = invoke("run", "tiny", "Hi")
    assert (result.exit_code, result.stderr) == (130, "")
    assert result.stdout == ("half\n" if len(steps) > 1 else "")
    assert session.log == ["stream closed", "session closed"]


def test_an_interrupt_while_loading(session: Any, invoke: Invoke) -> None:
    session.load_error = KeyboardInterrupt()
    result = invoke("run", "tiny", "Hi")
    assert (result.exit_code, result.output) == (130, "")


class Broken(io.TextIOWrapper):
    """A stdout whose reader is gone, or whose disk is full."""

    def __init__(self, error: OSError) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")
        self.error = error

    def flush(self) -> None:
        if not self.closed and self.buffer.closed is False and self.error:
            error, self.error = self.error, None  # type: ignore[assignment]
            raise error


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
        (
            OSError(28, "No space left on device"),
            1,
            "error: cannot write to standard output: No space left on device\n",
        ),
    ],
)
def test_output_that_goes_nowhere_cancels(
    error: OSError,
    code: int,
    message: str,
    session: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdout", Broken(error))
    with pytest.raises(SystemExit) as exit_:
        reame(["run", "tiny", "Hi"])
    assert exit_.value.code == code
    assert capsys.readouterr().err == message
    assert session.log == ["stream closed", "session closed"]


def test_a_terminal_is_not_steered(session: Any, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    session.steps = [text(0, "a\x1b[2J\r\tb\n\x9bc"), ending()]
    assert invoke("run", "tiny", "Hi").stdout == "a\x1b[2J\r\tb\n\x9bc\n"
    monkeypatch.setattr("reame_core.cli.terminal.is_terminal", lambda stream: stream is sys.stdout)
    assert invoke("run", "tiny", "Hi").stdout == "a\ufffd[2J\ufffd\tb\n\ufffdc\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--max-tokens", "0"],
            "--max-tokens must be a whole number from 1 to 2147483648, or unlimited, not 0",
        ),
        (
            ["--max-tokens", "x"],
            "--max-tokens must be a whole number from 1 to 2147483648, or unlimited, not 'x'",
        ),
        (["--temperature", "nan"], "--temperature must be a number from 0 to 100, not nan"),
        (["--temperature", "-1"], "--temperature must be a number from 0 to 100, not -1"),
        (["--top-p", "0"], "--top-p must be a number above 0 and at most 1, not 0"),
        (
            ["--context-length", "0"],
            "--context-length must be a whole number from 8 to 16777216, or auto, not 0",
        ),
        (["--no-plugin", ""], "--no-plugin must be a list of names, not ['']"),
        (["-n", "0"], "n must be from 1 to 128, not 0"),
        (["-n", "x"], "invalid value for '-n': 'x' is not a valid integer; see reame run --help"),
        (["--seed", "1.5"], "invalid value for '--seed': '1.5' is not a valid integer; see reame run --help"),
        (
            ["--seed", "9" * 30],
            "seed must be from -9223372036854775808 to 18446744073709551615, not " + "9" * 30,
        ),
        (["--stop", ""], "stop holds an empty text, which would end every answer at once"),
        (["--stop", "\udcff"], "--stop is not valid UTF-8 text (at character 1)"),
        (["--system", "a\udcff"], "--system is not valid UTF-8 text (at character 2)"),
        (["--logprobs", "2"], "--logprobs needs --json"),
        (["--logprobs", "21", "--json"], "logprobs must be from 0 to 20, not 21"),
        (["--config", "none.toml"], "HERE/none.toml: cannot read the settings: No such file or directory"),
        (
            ["--temprature", "1"],
            "no such option '--temprature'; did you mean '--temperature'?; see reame run --help",
        ),
        (
            ["--qqqq"],
            "no such option '--qqqq' (put -- before a text that begins with a dash); see reame run --help",
        ),
        (["more"], "got unexpected extra argument (more); see reame run --help"),
        (["--threads"], "option '--threads' requires an argument"),
    ],
)
def test_what_cannot_be_is_said_before_a_model_is_loaded(
    arguments: list[str], message: str, session: Any, invoke: Invoke, alone: Path
) -> None:
    result = invoke("run", "tiny", "Hi", *arguments)
    assert error_of(result).replace(str(alone), "HERE") == message
    assert result.stdout == ""
    assert session.model == ""


@pytest.mark.parametrize(
    ("prompt", "stdin", "message"),
    [
        ([""], None, "the prompt is empty: give at least one character of text"),
        ([], b"", "the prompt is empty: give at least one character of text"),
        (["-"], b"\n", "the prompt is empty: give at least one character of text"),
        (["a\udcffb"], None, "the prompt is not valid UTF-8 text (at character 2)"),
        ([], b"ab\xff", "the prompt on standard input is not valid UTF-8 text (byte 0xff at offset 2)"),
    ],
)
def test_a_prompt_is_text(
    prompt: list[str], stdin: bytes | None, message: str, session: Any, invoke: Invoke
) -> None:
    assert error_of(invoke("run", "tiny", *prompt, stdin=stdin)) == message
    assert session.model == ""


def test_a_prompt_of_blanks_is_a_prompt(session: Any, invoke: Invoke) -> None:
    assert invoke("run", "tiny", " ").exit_code == 0


def test_a_prompt_may_begin_with_a_dash(session: Any, invoke: Invoke) -> None:
    assert invoke("run", "tiny", "--", "-5 + 3 =").exit_code == 0
    assert session.messages[0][-1]["content"] == "-5 + 3 ="


def test_a_model_must_be_named(session: Any, invoke: Invoke) -> None:
    assert error_of(invoke("run")) == "missing argument 'MODEL'; see reame run --help"


def test_the_template_s_own_stop_texts_end_a_chat_but_not_a_raw_answer(session: Any, invoke: Invoke) -> None:
    session.chat_stops = ("### User:",)
    invoke("run", "tiny", "x", "--stop", "END")
    invoke("run", "tiny", "x", "--stop", "END", "--raw")
    assert [request.stop for request in session.requests] == [("END", "### User:"), ("END",)]
