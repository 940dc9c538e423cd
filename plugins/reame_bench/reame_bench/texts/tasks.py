"""Single tasks: texts to be written, rewritten, or talked about."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from reame_bench.texts.prose import handbook

if TYPE_CHECKING:
    from reame_bench.client import Messages

_THINGS = (
    "things to pack for a week in the mountains", "jobs to be done in a garden in spring",
    "tools for a bicycle workshop",
    "questions to ask before renting a flat", "dishes that can be made from potatoes",
    "reasons to keep a diary",
    "animals that live near a river", "games for a rainy afternoon", "spices and what they go with",
)  # fmt: skip
_TABLES = (
    "ten European rivers with country and length", "eight metals with symbol, density and melting point",
    "ten vegetables with season and days to harvest", "eight musical instruments with family and material",
)  # fmt: skip
_RECORDS = (
    "six employees of a small bakery (name, age, job, start_date, weekly_hours)",
    "six books of a village library (title, author, year, pages, on_loan)",
    "six rooms of a guest house (number, floor, beds, price, has_balcony)",
)
_PLOTS = (
    "a clockmaker who finds a letter inside an old clock", "two neighbours who share one apple tree",
    "a lighthouse on the first night without its keeper", "a teacher who forgets one word every day",
)  # fmt: skip


def user(text: str) -> Messages:
    return [{"role": "user", "content": text}]


def lists(count: int, seed: int) -> list[Messages]:
    """Numbered lists."""
    rng = random.Random(seed)
    return [
        user(
            f"Write a numbered list of twelve {thing}, one short line each. List number "
            f"{rng.randrange(100, 999)}."
        )
        for thing in rng.sample(_THINGS, count)
    ]


def tables(count: int, seed: int) -> list[Messages]:
    """Markdown tables."""
    rng = random.Random(seed)
    return [user(f"Write a Markdown table of {each}. Only the table.") for each in rng.sample(_TABLES, count)]


def records(count: int, seed: int) -> list[Messages]:
    """JSON without a schema."""
    rng = random.Random(seed)
    return [
        user(f"Write a JSON array of objects for {each}. Only the JSON.")
        for each in rng.sample(_RECORDS, count)
    ]


def stories(count: int, seed: int) -> list[Messages]:
    """Nothing that repeats."""
    rng = random.Random(seed)
    return [user(f"Tell a short story about {plot}.") for plot in rng.sample(_PLOTS, count)]


def letters(count: int, seed: int) -> list[Messages]:
    """Letters that say nearly the same to different people."""
    rng = random.Random(seed)
    names = rng.sample(
        ("Marta Weiss", "Tom Hale", "Ines Prado", "Jan Kolar", "Lucy Brandt", "Omar Reis"), count
    )
    return [
        user(
            f"Write a polite letter to {name}: the delivery of order {rng.randrange(10_000, 99_999)} is "
            f"late by "
            f"{rng.randrange(2, 9)} days because a machine broke down; apologise, offer free shipping "
            f"next time, sign as "
            "the customer service of Holm Tools."
        )
        for name in names
    ]


def rewrites(count: int, seed: int) -> list[Messages]:
    """A paragraph to be repeated with one change."""
    rng = random.Random(seed)
    changes = rng.sample(
        (
            ("harbour", "port"),
            ("crowns", "euros"),
            ("pier", "quay"),
            ("people", "workers"),
            ("minutes", "hours"),
        ),
        count,
    )
    return [
        user(
            f"Repeat this text word for word, only replace every '{old}' by '{new}'. Write nothing else.\n\n"
            + handbook(110, seed + number)
        )
        for number, (old, new) in enumerate(changes)
    ]


def questions(count: int, seed: int) -> list[str]:
    """What somebody says in a long conversation."""
    rng = random.Random(seed)
    subjects = (
        "watering tomatoes", "repairing a bicycle tyre", "baking bread", "writing a will", "learning Italian",
        "keeping bees", "painting a fence", "buying a used car", "planning a garden", "sleeping better",
    )  # fmt: skip
    asks = (
        "What matters most about {}?", "Give me two mistakes to avoid when {}.", "How long does {} take?",
        "What do I need for {}?", "Explain {} to a child, in two sentences.",
    )  # fmt: skip
    return [rng.choice(asks).format(rng.choice(subjects)) for _ in range(count)]


def sums(count: int, seed: int) -> list[Messages]:
    """Small problems with one number as the answer, which the last line has to give."""
    rng = random.Random(seed)
    return [
        user(
            f"A crate holds {rng.randrange(6, 20)} bottles. A shop buys {rng.randrange(4, 15)} crates and "
            f"sells "
            f"{rng.randrange(10, 40)} bottles. How many bottles are left? Think step by step in at most "
            f"three short "
            "lines and end with a line 'Answer: NUMBER'."
        )
        for _ in range(count)
    ]
