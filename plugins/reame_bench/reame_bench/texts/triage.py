"""Tickets of a shop's help desk, and the instructions for sorting them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reame_bench.client import Messages

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "category": {
            "type": "string",
            "enum": ["delivery", "billing", "returns", "account", "defect", "product", "legal", "other"],
        },
        "priority": {"type": "string", "enum": ["low", "normal", "high", "urgent"]},
        "team": {"type": "string"},
        "refund": {"type": "boolean"},
    },
    "required": ["category", "priority", "team", "refund"],
    "additionalProperties": False,
}

INSTRUCTIONS = """You sort the tickets of an online shop for tools and garden equipment. Read the ticket
and answer with one line of JSON and nothing else.

Fields, in this order:
- "category": one of delivery, billing, returns, account, defect, product, legal, other
- "priority": one of low, normal, high, urgent
- "team": the team that gets the ticket
- "refund": true if the customer asks for money back, otherwise false

Categories and teams:
- delivery: a parcel is late, lost, incomplete or was left in the wrong place. Team: logistics
- billing: an invoice, a payment, a discount or a double charge. Team: accounts
- returns: the customer wants to send something back that works. Team: returns desk
- account: login, password, address or newsletter. Team: web support
- defect: something is broken, leaks, smells or stopped working. Team: workshop
- product: a question before or after buying that needs advice. Team: sales
- legal: threats with lawyers, data protection, injuries. Team: management
- other: everything else. Team: front office

Priorities:
- urgent: danger to people, or a threat to go to court
- high: the customer has waited more than ten days, was charged twice, or cannot work without the tool
- normal: everything that is neither urgent nor high nor low
- low: questions, praise, newsletters

Examples:
Ticket: The hedge trimmer I bought in May smokes after two minutes and the handle got hot.
{"category": "defect", "priority": "urgent", "team": "workshop", "refund": false}
Ticket: Please remove me from your newsletter, I get it twice a week.
{"category": "account", "priority": "low", "team": "web support", "refund": false}
Ticket: You took 89.90 from my card twice for order 55120. I want the second payment back.
{"category": "billing", "priority": "high", "team": "accounts", "refund": true}
Ticket: Parcel 77-3108 has been in the depot for three days, when will it come?
{"category": "delivery", "priority": "normal", "team": "logistics", "refund": false}"""

_TOOLS = (
    "cordless drill", "lawn mower", "hedge trimmer", "pressure washer", "chainsaw", "leaf blower",
    "wheelbarrow",
    "garden hose", "circular saw", "angle grinder", "orbital sander", "tile cutter", "step ladder", "workbench",
    "compost bin", "rain barrel", "sprinkler", "log splitter", "paint sprayer", "jigsaw",
)  # fmt: skip
_PLACES = (
    "neighbour's porch",
    "garage",
    "front gate",
    "old address",
    "parcel shop",
    "wrong house",
    "bin store",
)
_PARTS = (
    "battery",
    "charger",
    "blade",
    "switch",
    "guide rail",
    "pump",
    "handle",
    "left wheel",
    "nozzle",
    "belt",
)
_SENTENCES = (
    "The {tool} from order {order} has not arrived after {days} days.",
    "Parcel {parcel} with my {tool} was left at the {place} and is gone.",
    "Order {order} came without the {part} for the {tool}.",
    "The {part} of my {tool} broke after {days} days of normal use.",
    "My {tool} from order {order} stopped working this morning, the {part} does not move at all.",
    "The {part} of the {tool} leaks and there is oil on the floor.",
    "I was charged {amount} euros for order {order}, but the {tool} was offered at {less}.",
    "There are two payments of {amount} euros for the {tool} on my statement, order {order}.",
    "Please send the invoice for the {tool}, order {order}, to our new company address.",
    "I would like to return the unused {tool} from order {order}, it is too heavy for me.",
    "Wrong size: the {part} does not fit my {tool}. How do I send it back?",
    "I cannot log in since yesterday and need the papers for my {tool}, order {order}.",
    "My address has changed, please correct it before order {order} with the {tool} is sent.",
    "Does the {tool} run with the {part} of the older model?",
    "Which {part} do you recommend for a {tool} that is used every day?",
    "The {part} came off the {tool} while I was working and hurt my hand.",
    "My lawyer will write to you about the {tool} from order {order} if I hear nothing in {days} days.",
    "Thank you for the quick help with my {tool}, the new {part} fits.",
)
_ENDINGS = (
    "", "", "", "", "Please answer soon.", "I have been a customer for {years} years.", "I want my money back.",
    "I need it for work on {day}.", "This is the second time I write.", "My number is {phone}.",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
ANSWER_TOKENS = 64


def tickets(count: int, seed: int = 1) -> list[str]:
    """``count`` tickets, no two alike."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        sentence = f"{rng.choice(_SENTENCES)} {rng.choice(_ENDINGS)}".strip()
        amount = rng.randrange(20, 400)
        ticket = sentence.format(
            tool=rng.choice(_TOOLS),
            part=rng.choice(_PARTS),
            place=rng.choice(_PLACES),
            order=rng.randrange(40_000, 99_999),
            parcel=f"{rng.randrange(10, 99)}-{rng.randrange(1000, 9999)}",
            days=rng.randrange(2, 21),
            amount=amount,
            less=amount - rng.randrange(3, 15),
            years=rng.randrange(2, 12),
            day=rng.choice(_DAYS),
            phone=f"0{rng.randrange(100, 999)} {rng.randrange(10_000, 99_999)}",
        )
        found[ticket] = None
    return list(found)


def conversations(count: int, seed: int = 1) -> list[Messages]:
    """One for each ticket: the instructions, then the ticket."""
    return [
        [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": f"Ticket: {ticket}"}]
        for ticket in tickets(count, seed)
    ]
