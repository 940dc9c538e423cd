"""Chooses among SQL answers by running them: those that fail lose, and the result most of them agree on wins.

    [plugins.sql_judge]
    database = "shop.sqlite"     # opened read-only, and each query is stopped after a while

Ask for several answers, such as `reame run MODEL "…" --best-of 5` with the Conclave, or `n` candidates of your
own.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from pathlib import Path

from reame_core.errors import ConfigError
from reame_core.hookspecs import hookimpl
from reame_core.plugins.api import CandidateState, Group, PluginContext

FENCE = re.compile(r"```(?:sql)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)
STEPS = 200_000
"""Steps of SQLite's machine that one query may take: the engine waits for it."""
ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
"""What a query may do: no other file is attached, nothing is changed."""
ROWS = 1000
"""Rows of a result that are compared."""


class SqlJudge:
    """Works on the engine thread, once for each candidate that has ended."""

    @hookimpl
    def startup(self, context: PluginContext) -> None:
        """Open the database."""
        path = context.options.get("database")
        if not isinstance(path, str) or not Path(path).is_file():
            raise ConfigError(f"plugins.sql_judge.database must be the path of a SQLite database, not {path!r}")
        self._connection = sqlite3.connect(
            f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False
        )
        self._connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY
        )
        self._results: dict[str, str | None] = {}

    @hookimpl
    def shutdown(self) -> None:
        """Close it."""
        self._connection.close()

    @hookimpl
    def select_winner(self, group: Group) -> int | None:
        """The first of those whose result most agree on, as soon as no other result can have more votes."""
        ended = [c for c in group.candidates if c.state is CandidateState.ENDED]
        running = sum(c.state is CandidateState.RUNNING for c in group.candidates)
        results = {c.choice: result for c in ended if (result := self._result(query_of(c.text))) is not None}
        if not results:
            return None
        (best, votes), *others = Counter(results.values()).most_common(2)
        if running and votes <= (others[0][1] if others else 0) + running:
            return None
        return next(choice for choice in results if results[choice] == best)

    def _result(self, query: str) -> str | None:
        """The rows in a form that can be compared; None for what is no query or does not run."""
        if query not in self._results:
            if len(self._results) > ROWS:
                self._results.clear()
            self._results[query] = self._run(query)
        return self._results[query]

    def _run(self, query: str) -> str | None:
        self._connection.set_progress_handler(lambda: 1, STEPS)  # a true value stops the query
        try:
            rows = self._connection.execute(query).fetchmany(ROWS)
        except (sqlite3.Error, sqlite3.Warning):
            return None
        finally:
            self._connection.set_progress_handler(None, 0)
        return repr(rows if "order by" in query.casefold() else sorted(rows, key=repr))


def query_of(text: str) -> str:
    """The SQL in an answer: what stands in a code fence, else all of it."""
    fenced = FENCE.search(text)
    return (fenced[1] if fenced else text).strip().rstrip(";")


plugin = SqlJudge()
