"""Articles of a shop's catalogue, and the instructions for tagging them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_bench.client import Messages

INSTRUCTIONS = """You tag articles of a catalogue. Read the description and answer with one line: tags
separated by commas, in lower case, in this order, and nothing else.

1. the kind of thing, one of: lighting, seating, storage, kitchen, textile, garden, office, toys
2. the room, one of: living room, bedroom, kitchen, bathroom, hall, garden, study, nursery
3. the main material, one of: oak, pine, steel, glass, cotton, wool, linen, plastic, ceramic, bamboo
4. the style, one of: plain, country, industrial, colourful, classic
5. "indoor" or "outdoor"
6. "sale" if the price was reduced, otherwise "regular"

Examples:
Article: Lamp "Vigo" of brushed steel with a long arm for the desk. Was 79, now 49 euros.
lighting, study, steel, industrial, indoor, sale
Article: Cushion cover "Mara", washed linen in sand, 50 by 50. 24 euros.
textile, living room, linen, plain, indoor, regular
Article: Folding chair "Tivo" of bamboo, may stay out in the rain. 65 euros.
seating, garden, bamboo, plain, outdoor, regular"""

_NAMES = ("Alba", "Bruno", "Cedro", "Dora", "Elin", "Faro", "Greta", "Hilde", "Ivo", "Juno", "Kalle", "Lino")
_ARTICLES = (
    "Table lamp", "Armchair", "Shelf", "Mug", "Blanket", "Watering can", "Filing tray", "Building blocks",
    "Stool",
    "Chest of drawers", "Curtain", "Bird house", "Pendant lamp", "Bench", "Spice rack", "Towel",
)  # fmt: skip
_MATERIALS = ("oak", "pine", "steel", "glass", "cotton", "wool", "linen", "plastic", "ceramic", "bamboo")
_DETAILS = (
    "with rounded edges", "in three colours", "made by hand", "for small rooms", "with a drawer",
    "easy to clean",
    "for the terrace", "for children from three years", "with a matt finish", "that folds flat",
)  # fmt: skip
ANSWER_TOKENS = 32


def conversations(count: int, seed: int = 2) -> list[Messages]:
    """``count`` articles to be tagged, no two alike."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        price = rng.randrange(9, 300)
        offer = (
            f"Was {price + rng.randrange(10, 60)}, now {price} euros."
            if rng.random() < 0.3
            else f"{price} euros."
        )
        article, material, detail = rng.choice(_ARTICLES), rng.choice(_MATERIALS), rng.choice(_DETAILS)
        width, depth = rng.randrange(20, 180), rng.randrange(20, 90)
        found[f'{article} "{rng.choice(_NAMES)}" of {material} {detail}, {width} by {depth}. {offer}'] = None
    return [
        [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": f"Article: {article}"}]
        for article in found
    ]
