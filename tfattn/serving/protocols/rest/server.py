"""The REST server: uvicorn without its signal handlers and with a graceful shutdown."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator

import uvicorn

from tfattn.serving.protocols.listening import listen, url_host
from tfattn.serving.protocols.rest.http import check_uvicorn, http_protocol
from tfattn.serving.section import Serving

KEEP_ALIVE = 75  # seconds that an idle connection is kept; longer than the usual limit of clients
LINGER = 1.0  # seconds that idle connections stay open at shutdown, because a request may be in transit


class RestServer(uvicorn.Server):
    """The server of an ASGI application.

    Args:
        app: the application.
        serving: the server's settings.

    Attributes:
        url: the server's address.

    Raises:
        ServingError: the address cannot be used, or this release of uvicorn is not supported.
    """

    def __init__(self, app: Callable, serving: Serving):
        check_uvicorn()
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
        self._socket = listen(serving.host, serving.rest_port, key="rest_port")
        scheme = "https" if serving.tls_certificate else "http"
        self.url = f"{scheme}://{url_host(serving.host)}:{self._socket.getsockname()[1]}"

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the process that runs the server."""
        yield

    async def start(self) -> None:
        """Start the server, and return once it accepts connections."""
        self._serve_task = asyncio.create_task(self.serve(sockets=[self._socket]))
        while not self.started and not self._serve_task.done():
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """Stop accepting connections, answer the open requests, and end."""
        for server in self.servers:
            server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while self.server_state.connections:
                    await asyncio.sleep(0.02)
        self.should_exit = True
        await self._serve_task
        if self.server_state.tasks:  # cancelled requests still send their failures
            await asyncio.wait(self.server_state.tasks, timeout=LINGER)
