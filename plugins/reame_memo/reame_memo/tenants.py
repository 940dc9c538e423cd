"""Names of tenants, as they are written down."""

from __future__ import annotations

import hashlib


def tenant_digest(tenant: str) -> bytes:
    """16 bytes instead of ``tenant``, which may be a user's name or key."""
    return hashlib.blake2b(tenant.encode(), digest_size=16, person=b"reame-tenant").digest()
