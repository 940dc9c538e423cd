from litestar import get

from reame_core.hookspecs import hookimpl


@hookimpl
def register_routes(server):
    @get("/v1/context")
    async def context() -> dict[str, int]:
        """How long a prompt and its answer may be."""
        return {"tokens": server.context_length}

    return [context]
