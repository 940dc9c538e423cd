"""Questions and texts, all made by rule: the same ones in each run."""

from __future__ import annotations

import numpy as np

EXPLAIN = (
    "Explain to a new colleague how a web server handles a request, from the socket to the response, and name "
    "what can go wrong at each step."
)
_PEOPLE = ("Ada", "Ben", "Chloe", "Dan", "Eva", "Finn", "Greta", "Hugo", "Ines", "Jon", "Kira", "Leo")
_THINGS = (
    "drill",
    "ladder",
    "hammer",
    "saw",
    "lamp",
    "rope",
    "brush",
    "bucket",
    "shovel",
    "clamp",
    "level",
    "vice",
)
_TOWNS = (
    "Bergen",
    "Ghent",
    "Porto",
    "Turin",
    "Graz",
    "Lund",
    "Nantes",
    "Cork",
    "Bonn",
    "Split",
    "Gdansk",
    "Pilsen",
)
_FAULTS = (
    "the parcel never arrived",
    "the invoice shows the wrong amount",
    "the password reset mail does not come",
    "the app closes as soon as it is opened",
    "the screen arrived cracked",
    "the subscription was charged twice",
    "the export file is empty",
    "the address cannot be changed",
)


def orders(seed: int, changed: int = 0) -> str:
    """Twelve lines of data to be turned into sentences; ``changed`` words are others, by ``seed``."""
    random = np.random.default_rng(1)
    rows = [
        [_PEOPLE[i], str(random.integers(2, 9)), _THINGS[random.integers(12)], _TOWNS[random.integers(12)]]
        for i in range(12)
    ]
    other = np.random.default_rng(seed)
    for place in other.choice(24, changed, replace=False):
        row, column = divmod(int(place), 2)
        words = _THINGS if column == 0 else _TOWNS
        rows[row][2 + column] = words[(words.index(rows[row][2 + column]) + 5) % 12]
    lines = "\n".join(", ".join(row) for row in rows)
    return (
        "Write one short sentence for each of these orders, in this order, as in: Zoe ordered 3 spades, to be "
        f"sent to Oslo.\n\n{lines}"
    )


TEXT = (
    "The harbour of our town was build more then two hundred years ago, when the first ships with coal "
    "came from the north. In the begining there was only a wooden bridge and a small house for the "
    "harbour master, who lived there with his family and three dogs. Later the merchants payed for a wall "
    "of stone, and after the great storm of 1847 they added a lighthouse, wich can still be seen from far "
    "away. Today most of the ships bring tourists, but early in the morning, when the fog lies over the "
    "water, one can still see the fishermen mending there nets on the old bridge, as there grandfathers "
    "did."
)
REWRITE = f"Repeat this text word for word, but with its spelling mistakes corrected:\n\n{TEXT}"


def ticket(number: int) -> str:
    """One of forty tickets for the same form."""
    random = np.random.default_rng(number)
    fault = _FAULTS[int(random.integers(len(_FAULTS)))]
    person, town = _PEOPLE[int(random.integers(12))], _TOWNS[int(random.integers(12))]
    return (
        "You sort the mail of a support team. Answer with one JSON object and nothing else, with the keys "
        '"ticket", "customer", "category" (delivery, billing, account, software or hardware), "urgency" (low, '
        '"medium" or "high") and "next_step" (one short sentence).\n\n'
        f"Ticket {1000 + number}, from {person} in {town}: {fault}, and this since {2 + number % 5} days."
    )


_SUBJECTS = ("a lighthouse keeper", "a clock that runs backwards", "a town without shadows", "a talking river")
_MOODS = ("melancholy", "funny", "frightening", "tender")


def story(number: int) -> str:
    """A wish for a story that has nothing in common with the others."""
    subject = _SUBJECTS[number % 4]
    return f"Write a {_MOODS[number // 4 % 4]} story about {subject}, full of surprising words and images."


USERS = (
    "Explain how bread is made, from grain to loaf.",
    "Describe how a bicycle stays upright, in simple words.",
    "Tell me how rain comes about and why clouds float.",
    "Describe the way of a letter from the mailbox to the reader.",
)
