"""Once a day at a certain time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, time, timedelta

import click


def time_of_day(text: str) -> time:
    """``02:30``. Raises click's error for anything else."""
    try:
        return datetime.strptime(text, "%H:%M").time()
    except ValueError:
        raise click.BadParameter(f"{text!r} is no time such as 02:30", param_hint="--schedule") from None


def next_at(moment: time, now: datetime) -> datetime:
    """When it is ``moment`` the next time."""
    today = now.replace(hour=moment.hour, minute=moment.minute, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


def wait_for(moment: time, tell: Callable[[str], None], now: Callable[[], datetime] = datetime.now) -> None:
    """Sleep until then; an interrupt ends it. The clock may be set meanwhile."""
    due = next_at(moment, now())
    tell(f"waiting until {due:%Y-%m-%d %H:%M}")
    never = threading.Event()
    while (left := (due - now()).total_seconds()) > 0:
        never.wait(min(left, 60))
