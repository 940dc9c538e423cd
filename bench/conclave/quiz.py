"""A quiz made by a seeded generator: arithmetic, word problems, and questions about short texts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

Kind = Literal["arithmetic", "words", "extraction"]
SHARES: dict[Kind, int] = {"arithmetic": 3, "words": 3, "extraction": 1}
"""How many of each kind come in turn."""
INSTRUCTION = """Work in short steps on one line, then write the answer on a line of its own.

Question: What is 4 * 6 + 5 * 3?
4 * 6 = 24; 5 * 3 = 15; 24 + 15 = 39
Answer: 39

Question: Tom has 3 bags of 8 apples and eats 5. How many are left?
3 * 8 = 24; 24 - 5 = 19
Answer: 19"""

_NAMES = ("Anna", "Bruno", "Carla", "Dario", "Elena", "Fabio", "Greta", "Hugo")
_THINGS = ("lamps", "chairs", "books", "bottles", "tiles", "boxes", "pens", "plates")
_TOWNS = ("Lucca", "Siena", "Parma", "Trieste", "Bari", "Pisa")


@dataclass(frozen=True, slots=True)
class Item:
    """One question with the only right answer."""

    number: int
    kind: Kind
    question: str
    answer: str

    @property
    def messages(self) -> list[dict[str, object]]:
        return [
            {"role": "system", "content": INSTRUCTION},
            {"role": "user", "content": f"Question: {self.question}"},
        ]

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def make_quiz(count: int, seed: int) -> list[Item]:
    """``count`` different items; the same for the same seed, and the first ones of a longer quiz."""
    chance = random.Random(seed)
    kinds = [kind for kind, share in SHARES.items() for _ in range(share)]
    items: list[Item] = []
    seen: set[str] = set()
    while len(items) < count:
        kind = kinds[len(items) % len(kinds)]
        question, answer = chance.choice(_MAKERS[kind])(chance)
        if question not in seen:
            seen.add(question)
            items.append(Item(len(items), kind, question, str(answer)))
    return items


Maker = Callable[[random.Random], tuple[str, object]]


def _product(chance: random.Random) -> tuple[str, object]:
    a, b, c = chance.randint(11, 29), chance.randint(11, 29), chance.randint(20, 99)
    return f"What is {a} * {b} - {c}?", a * b - c


def _sum_of_products(chance: random.Random) -> tuple[str, object]:
    a, b, c, d = (chance.randint(3, 19) for _ in range(4))
    return f"What is {a} * {b} + {c} * {d}?", a * b + c * d


def _brackets(chance: random.Random) -> tuple[str, object]:
    a, b, c, d = chance.randint(12, 60), chance.randint(12, 60), chance.randint(3, 9), chance.randint(10, 99)
    return f"What is ({a} + {b}) * {c} - {d}?", (a + b) * c - d


def _shopping(chance: random.Random) -> tuple[str, object]:
    name, thing = chance.choice(_NAMES), chance.choice(_THINGS)
    count, price, paid = chance.randint(3, 9), chance.randint(4, 19), 200
    return (
        f"{name} buys {count} {thing} at {price} euros each and pays with a {paid} euro note. "
        "How many euros of change does she or he get?"
    ), paid - count * price


def _sharing(chance: random.Random) -> tuple[str, object]:
    one, other = chance.sample(_NAMES, 2)
    thing, friends, each, kept = (
        chance.choice(_THINGS),
        chance.randint(3, 8),
        chance.randint(4, 12),
        chance.randint(5, 20),
    )
    return (
        f"{one} gives {each} {thing} to each of {friends} friends, {kept} more to {other}, and keeps {kept}. "
        f"How many {thing} were there at first?"
    ), friends * each + 2 * kept


def _travel(chance: random.Random) -> tuple[str, object]:
    name = chance.choice(_NAMES)
    speed, hours, more, slower = (
        chance.randint(40, 90),
        chance.randint(2, 5),
        chance.randint(1, 3),
        chance.randint(5, 20),
    )
    return (
        f"{name} drives {hours} hours at {speed} km/h, then {more} hours {slower} km/h slower. "
        "How many kilometres is that in all?"
    ), hours * speed + more * (speed - slower)


def _saving(chance: random.Random) -> tuple[str, object]:
    name = chance.choice(_NAMES)
    weekly, weeks, spent = chance.randint(12, 35), chance.randint(6, 14), chance.randint(20, 60)
    return (
        f"{name} saves {weekly} euros a week for {weeks} weeks, spends {spent} euros, and then doubles what is "
        "left. How many euros are there now?"
    ), 2 * (weekly * weeks - spent)


def _order(chance: random.Random) -> tuple[str, object]:
    name, thing, town = chance.choice(_NAMES), chance.choice(_THINGS), chance.choice(_TOWNS)
    number, count, price, day = (
        chance.randint(1000, 9999),
        chance.randint(2, 40),
        chance.randint(5, 90),
        chance.randint(1, 28),
    )
    text = (
        f"Order {number}: {count} {thing} at {price} euros each for {name}, to be sent to {town} by {day} May, "
        f"not later than the {thing} of order {number + 7}."
    )
    question, answer = chance.choice(
        [
            (f"How many {thing} are in order {number}?", count),
            ("What does one of them cost, in euros?", price),
            ("To which town are they sent?", town),
            ("Who gets them?", name),
            (f"Which is the number of the order for {name}?", number),
        ]
    )
    return f"{text} {question}", answer


_MAKERS: dict[Kind, tuple[Maker, ...]] = {
    "arithmetic": (_product, _sum_of_products, _brackets),
    "words": (_shopping, _sharing, _travel, _saving),
    "extraction": (_order,),
}
