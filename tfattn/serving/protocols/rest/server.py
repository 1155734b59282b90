"""The REST server: uvicorn, without its signal handlers and with a graceful end."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator

import uvicorn

from tfattn.serving.protocols.listening import listen, shown
from tfattn.serving.protocols.rest import uvicorn_insides
from tfattn.serving.protocols.rest.http import http_protocol
from tfattn.serving.section import Serving

KEEP_ALIVE = 75  # seconds that an idle connection is kept, longer than clients usually keep theirs
LINGER = 1.0  # seconds that idle connections stay open at the end: a request may be on its way


class RestServer(uvicorn.Server):
    """The server of an ASGI application.

    Args:
        app: the application.
        serving: the settings.

    Attributes:
        url: where it listens.

    Raises:
        ServingError: it cannot listen there, or this release of uvicorn will not do.
    """

    def __init__(self, app: Callable, serving: Serving):
        uvicorn_insides.check()
        super().__init__(
            uvicorn.Config(
                app,
                http=http_protocol(serving),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE,
                server_header=False,
                ssl_certfile=serving.tls_certificate,
                ssl_keyfile=serving.tls_key,
                timeout_graceful_shutdown=int(serving.grace_seconds),
            )
        )
        self._listening = listen(serving.host, serving.rest_port, key="rest_port")
        scheme = "https" if serving.tls_certificate else "http"
        self.url = f"{scheme}://{shown(serving.host)}:{self._listening.getsockname()[1]}"

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the program that runs this server."""
        yield

    async def start(self) -> None:
        """Start the server, and return once it accepts connections."""
        self._running = asyncio.create_task(self.serve(sockets=[self._listening]))
        while not self.started and not self._running.done():
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """Accept no more connections, answer the requests on those that there are, and end."""
        for server in self.servers:
            server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while self.server_state.connections:
                    await asyncio.sleep(0.02)
        self.should_exit = True
        await self._running
        if self.server_state.tasks:  # they have been cut, and say so to their clients
            await asyncio.wait(self.server_state.tasks, timeout=LINGER)
