"""Computing outside the engine's thread without slowing that one down.

GNU OpenMP keeps a team of threads for each thread that has ever computed, and as soon as there are more of them
than processors, all of them wait at barriers almost without spinning (``gomp_throttled_spin_count_var`` in
libgomp's ``env.c``). On two processors one token of a 135M model then takes 40 ms instead of 6. A team ends
with its thread: so whatever computes before the engine's thread does (llama.cpp also converts weights with
OpenMP) runs in a thread that passes away.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def in_passing_thread(function: Callable[[], Result]) -> Result:
    """What ``function`` returns or raises in a thread that has ended when this returns."""
    with ThreadPoolExecutor(1, thread_name_prefix="reame-prepare") as pool:
        return pool.submit(function).result()
