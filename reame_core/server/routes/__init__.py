"""The routes of the core. Each module has a function that makes its handlers for one server."""
