"""Old routes: a route of one's own."""

from reame_old_routes.plugin import OldRoutes

plugin = OldRoutes()
"""What the entry point names. Reame asks its hooks."""
