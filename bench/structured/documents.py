"""Invoices, and the schema that they are read into."""

from __future__ import annotations

from typing import Any

INSTRUCTION = "Extract the invoice as JSON."
INVOICES = (
    "Rossi Forniture srl\nVia Garibaldi 12, 10122 Torino\n\nInvoice number: RF-2024-117\nDate: 2024-03-18\n\n"
    "Box of wood screws 4x40     3   12.50\nAngle bracket, zinc         12   1.80\n"
    "Cordless drill 18V          1   89.00\n\n"
    "Subtotal: 148.10 EUR\nVAT 22%: 32.58 EUR\nTotal due: 180.68 EUR",
    "NORTHERN PAPER LTD\nInvoice no. 88213 of 2023-11-02\n\nqty  item                 unit price\n"
    "10   A4 paper, 500 sheets      4.20\n2    Toner cartridge black    61.00\n"
    "5    Ring binder               2.75\n\n"
    "Net amount GBP 177.75, VAT 20 % GBP 35.55, total GBP 213.30",
    "Invoice\n\nFrom: Kessler & Daughters\nNumber: 2024/0056\nIssued: 2024-07-30\n\n"
    "- Garden hose 25 m, 1 piece at 34.90 USD\n- Spray nozzle, 2 pieces at 9.95 USD\n"
    "- Wall bracket, 1 piece at 12.00 USD\n\nSum: 66.80 USD. Tax: 5.34 USD. To pay: 72.14 USD.",
)
_ITEM = {
    "type": "object",
    "properties": {
        "description": {"type": "string"},
        "quantity": {"type": "integer"},
        "unit_price": {"type": "number"},
    },
    "required": ["description", "quantity", "unit_price"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string", "maxLength": 60},
        "invoice_number": {"type": "string", "maxLength": 30},
        "date": {"type": "string", "format": "date"},
        "currency": {"enum": ["EUR", "USD", "GBP"]},
        "items": {"type": "array", "items": _ITEM, "maxItems": 8},
        "subtotal": {"type": "number"},
        "tax": {"type": "number"},
        "total": {"type": "number"},
    },
    "required": ["vendor", "invoice_number", "date", "currency", "items", "subtotal", "tax", "total"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "invoice", "schema": SCHEMA, "strict": True}}
