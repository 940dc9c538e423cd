"""Invoices as plain text, and the schema that is wanted of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_bench.client import Messages

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string", "maxLength": 60},
        "invoice_number": {"type": "string", "maxLength": 20},
        "date": {"type": "string", "maxLength": 10},
        "currency": {"type": "string", "enum": ["EUR", "USD", "GBP", "CHF"]},
        "items": {
            "type": "array",
            "maxItems": 4,
            "items": {
                "type": "object",
                "properties": {
                    "description": {"type": "string", "maxLength": 40},
                    "quantity": {"type": "integer"},
                    "unit_price": {"type": "number"},
                },
                "required": ["description", "quantity", "unit_price"],
                "additionalProperties": False,
            },
        },
        "total": {"type": "number"},
    },
    "required": ["vendor", "invoice_number", "date", "currency", "items", "total"],
    "additionalProperties": False,
}

INSTRUCTIONS = """You read invoices for the accounts department and answer with one JSON object and nothing
else. Its fields, in this order: "vendor" (the company that sent the invoice), "invoice_number", "date"
(YYYY-MM-DD), "currency" (EUR, USD, GBP or CHF), "items" (a list of objects with "description", "quantity" and
"unit_price", in the order of the invoice), "total" (the amount due, a number without thousands separators).
Copy names and numbers as they are, do not compute anything, leave nothing out.

Example:
Hollis & Sons, Invoice No. H-2201, 2024-02-09. 2 x door handle at 14.50; 10 x hinge at 2.20. Total: 51.00 GBP
{"vendor": "Hollis & Sons", "invoice_number": "H-2201", "date": "2024-02-09", "currency": "GBP", "items": \
[{"description": "door handle", "quantity": 2, "unit_price": 14.50}, {"description": "hinge", "quantity": 10, \
"unit_price": 2.20}], "total": 51.00}"""

_VENDORS = (
    "Rossi Forniture srl", "Nordlicht Handels GmbH", "Baker Timber Ltd", "Atelier Morel", "Keller & Frei AG",
    "Oakhill Supplies", "Ferramenta Conti", "Hansen Metall", "Lakeside Paper Co", "Moulin Fils",
    "Terra Verde srl",
)  # fmt: skip
_GOODS = (
    "box of screws", "steel bracket", "paint roller", "pine board", "sheet of glass", "bag of cement",
    "door hinge",
    "cable drum", "light switch", "copper pipe", "roof tile", "sanding disc", "work glove", "wood glue",
    "padlock",
)  # fmt: skip
ANSWER_TOKENS = 200


def conversations(count: int, seed: int = 3) -> list[Messages]:
    """``count`` invoices to be read, of one to three items."""
    rng = random.Random(seed)
    return [
        [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": _invoice(rng)}]
        for _ in range(count)
    ]


def _invoice(rng: random.Random) -> str:
    lines, total = [], 0
    for good in rng.sample(_GOODS, rng.randrange(1, 4)):
        quantity, cents = rng.randrange(1, 25), rng.randrange(90, 9000, 10)
        lines.append(f"{quantity} x {good} at {cents / 100:.2f}")
        total += quantity * cents
    number = f"{rng.choice('ABDFHKR')}-{rng.randrange(1000, 9999)}"
    date = f"2024-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
    currency = rng.choice(("EUR", "EUR", "USD", "GBP", "CHF"))
    return (
        f"{rng.choice(_VENDORS)}, Invoice No. {number}, {date}. {'; '.join(lines)}. "
        f"Total due: {total / 100:.2f} {currency}"
    )
