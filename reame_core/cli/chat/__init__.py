"""The chat of ``reame run`` on a terminal. ``start`` begins one; what it needs besides (prompt_toolkit, rich)
is imported only then."""
