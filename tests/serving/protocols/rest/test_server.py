"""Shutdown of the REST server: open requests are answered, and slow requests are cancelled with a failure."""

import asyncio
import contextlib

import pytest

from tfattn.serving.protocols.rest.server import RestServer
from tfattn.serving.section import Serving

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def answer(send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def running(app, **settings):
    """Yield a server and a connection to it."""
    server = RestServer(app, Serving(rest_port=0, **settings))
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    yield server, reader, writer
    writer.close()


async def read_answer(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    return head.split(b" ")[1], await reader.readexactly(2)


def test_shutdown_answers_open_connections_and_refuses_new_ones():
    async def app(scope, receive, send):
        await answer(send)

    async def ends():
        async with running(app) as (server, reader, writer):
            stopping = asyncio.create_task(server.stop())
            await asyncio.sleep(0.1)
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
            writer.write(REQUEST)
            assert await read_answer(reader) == (b"200", b"ok")
            assert not stopping.done()
            await stopping

    asyncio.run(ends())


def test_a_request_within_the_grace_period_is_answered():
    async def app(scope, receive, send):
        await asyncio.sleep(1.5)  # longer than connections linger
        await answer(send)

    async def ends():
        async with running(app, grace_seconds=10) as (server, reader, writer):
            writer.write(REQUEST)
            await asyncio.sleep(0.1)
            await server.stop()
            assert await read_answer(reader) == (b"200", b"ok")

    asyncio.run(ends())


def test_a_request_beyond_the_grace_period_is_cancelled():
    told = []

    async def app(scope, receive, send):
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.3)  # such as a last word to the client
            told.append("cut")

    async def ends():
        async with running(app, grace_seconds=1) as (server, _, writer):
            writer.write(REQUEST)
            await asyncio.sleep(0.1)
            await server.stop()
            assert told == ["cut"]

    asyncio.run(ends())
