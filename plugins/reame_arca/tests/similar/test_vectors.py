"""Vectors in memory against the obvious way to do it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from reame_arca.similar.entry import Entry
from reame_arca.similar.vectors import Vectors

LIMIT = 5
UNIT = np.eye(4, dtype=np.float32)
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "clear"]),
        st.sampled_from([b"a", b"b"]),
        st.integers(0, 4),
        st.integers(0, 3),
    ),
    max_size=40,
)


def vector_of(number: int) -> np.ndarray:
    mixed = UNIT[number] + np.float32(0.5) * UNIT[(number + 1) % 4]
    return mixed / np.linalg.norm(mixed)


@given(ACTIONS, st.sampled_from([b"a", b"b"]), st.integers(0, 3), st.sampled_from([-1.0, 0.3, 0.9]))
def test_the_nearest_of_the_newest(
    actions: list[tuple[str, bytes, int, int]], rest: bytes, asked: int, least: float
) -> None:
    vectors = Vectors(LIMIT)
    model: dict[tuple[bytes, str], int] = {}
    for action, group, text, number in actions:
        entry = Entry(group, str(text), "", 0.0)
        if action == "add":
            model.pop((group, str(text)), None)
            model[group, str(text)] = number
            vectors.add(entry, vector_of(number))
            while len(model) > LIMIT:
                del model[next(iter(model))]
        elif action == "remove":
            vectors.remove(entry)
            model.pop((group, str(text)), None)
        else:
            vectors.clear()
            model.clear()
        assert len(vectors) == len(model)
    assert vectors.has(rest) == any(group == rest for group, _ in model)
    found = list(vectors.nearest(rest, vector_of(asked), least))
    cosines = {
        text: float(vector_of(number) @ vector_of(asked))
        for (group, text), number in model.items()
        if group == rest
    }
    assert {entry.text for _, entry in found} == {text for text, cosine in cosines.items() if cosine >= least}
    assert [cosine for cosine, _ in found] == sorted((cosine for cosine, _ in found), reverse=True)
    assert all(np.isclose(cosine, cosines[entry.text]) for cosine, entry in found)
