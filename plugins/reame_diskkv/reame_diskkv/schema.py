"""The tables of the index, and how they came to be.

The index can be lost at any time: what counts is in the files. Sums and numbers of children are kept by
triggers, so that they are right after every commit and nothing ever has to count entries.
"""

from __future__ import annotations

from sqlite_utils import Database, Migrations

VERSION = 3
"""Kept as ``user_version``. Raise it when older programs could not use the index any more."""

migrations = Migrations("reame_diskkv")


@migrations()
def blocks(db: Database) -> None:
    """A block is found by its key, or by its parent and the tokens nearest to those wanted. Evicted are blocks
    without children, the one that was not used for longest first."""
    for statement in _BLOCKS:
        db.execute(statement)


@migrations()
def roots_and_days(db: Database) -> None:
    """What the chains belong to, and what was written and read on each day."""
    db.execute("CREATE TABLE root (key BLOB PRIMARY KEY, description TEXT NOT NULL, used REAL NOT NULL)")
    db.execute(
        "CREATE TABLE day (day TEXT PRIMARY KEY, written_blocks INTEGER NOT NULL DEFAULT 0, "
        "written_bytes INTEGER NOT NULL DEFAULT 0, lookups INTEGER NOT NULL DEFAULT 0, "
        "hits INTEGER NOT NULL DEFAULT 0, wanted_tokens INTEGER NOT NULL DEFAULT 0, "
        "restored_tokens INTEGER NOT NULL DEFAULT 0)"
    )


@migrations()
def sessions(db: Database) -> None:
    """Named conversations, and the blocks that are kept for them."""
    db.execute(
        "CREATE TABLE session (id TEXT PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, "
        "created REAL NOT NULL, saved REAL, root BLOB, tokens BLOB NOT NULL)"
    )
    db.execute("CREATE INDEX session_owner ON session (owner, created)")
    db.execute("CREATE TABLE pin (holder TEXT PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID")
    db.execute("CREATE INDEX pin_key ON pin (key)")
    db.execute(
        "CREATE TRIGGER pin_added AFTER INSERT ON pin BEGIN "
        "UPDATE block SET pins = (SELECT count(*) FROM pin WHERE key = NEW.key) WHERE key = NEW.key; END"
    )
    db.execute(
        "CREATE TRIGGER pin_moved AFTER UPDATE ON pin BEGIN "
        "UPDATE block SET pins = (SELECT count(*) FROM pin WHERE key = block.key) "
        "WHERE key IN (OLD.key, NEW.key); END"
    )
    db.execute(
        "CREATE TRIGGER pin_removed AFTER DELETE ON pin BEGIN "
        "UPDATE block SET pins = (SELECT count(*) FROM pin WHERE key = OLD.key) WHERE key = OLD.key; END"
    )


@migrations()
def size_of_blocks(db: Database) -> None:
    """Sessions are found in blocks of the size with which they were saved; 0 before that."""
    db.execute("ALTER TABLE session ADD COLUMN block_tokens INTEGER NOT NULL DEFAULT 0")


@migrations()
def size_of_sessions(db: Database) -> None:
    """Files of sessions take room as well. Of those from before it is found out when files and index are
    compared."""
    db.execute("ALTER TABLE session ADD COLUMN file_bytes INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE total ADD COLUMN session_bytes INTEGER NOT NULL DEFAULT 0")
    for name, event, change in (
        ("added", "INSERT", "+ NEW.file_bytes"),
        ("resized", "UPDATE OF file_bytes", "+ NEW.file_bytes - OLD.file_bytes"),
        ("removed", "DELETE", "- OLD.file_bytes"),
    ):
        db.execute(
            f"CREATE TRIGGER session_{name} AFTER {event} ON session BEGIN "
            f"UPDATE total SET session_bytes = session_bytes {change}; END"
        )


_BLOCKS = (
    "CREATE TABLE block (id INTEGER PRIMARY KEY, key BLOB NOT NULL, root BLOB NOT NULL, parent BLOB NOT NULL, "
    "start INTEGER NOT NULL, tokens BLOB NOT NULL, raw_bytes INTEGER NOT NULL, file_bytes INTEGER NOT NULL, "
    "created REAL NOT NULL, used REAL NOT NULL, children INTEGER NOT NULL DEFAULT 0, "
    "pins INTEGER NOT NULL DEFAULT 0)",
    "CREATE UNIQUE INDEX block_key ON block (key)",
    "CREATE UNIQUE INDEX block_tokens ON block (parent, tokens)",
    "CREATE INDEX block_leaf ON block (used) WHERE children = 0 AND pins = 0",
    "CREATE TABLE total (id INTEGER PRIMARY KEY CHECK (id = 1), blocks INTEGER NOT NULL, "
    "raw_bytes INTEGER NOT NULL, file_bytes INTEGER NOT NULL)",
    "INSERT INTO total VALUES (1, 0, 0, 0)",
    "CREATE TRIGGER block_added AFTER INSERT ON block BEGIN "
    "UPDATE total SET blocks = blocks + 1, raw_bytes = raw_bytes + NEW.raw_bytes, "
    "file_bytes = file_bytes + NEW.file_bytes; "
    "UPDATE block SET children = children + 1 WHERE key = NEW.parent; "
    "UPDATE block SET children = (SELECT count(*) FROM block AS child WHERE child.parent = NEW.key), "
    "pins = (SELECT count(*) FROM pin WHERE pin.key = NEW.key) WHERE id = NEW.id; END",
    "CREATE TRIGGER block_resized AFTER UPDATE OF raw_bytes, file_bytes ON block BEGIN "
    "UPDATE total SET raw_bytes = raw_bytes + NEW.raw_bytes - OLD.raw_bytes, "
    "file_bytes = file_bytes + NEW.file_bytes - OLD.file_bytes; END",
    # A parent is as recently used as its last child was: only ends of chains have to be stamped.
    "CREATE TRIGGER block_removed AFTER DELETE ON block BEGIN "
    "UPDATE total SET blocks = blocks - 1, raw_bytes = raw_bytes - OLD.raw_bytes, "
    "file_bytes = file_bytes - OLD.file_bytes; "
    "UPDATE block SET children = children - 1, used = max(used, OLD.used) WHERE key = OLD.parent; END",
)
