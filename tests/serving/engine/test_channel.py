"""A stream yields pieces in order, then its end or failure, and its buffer is bounded."""

import asyncio

import pytest
from grpc import StatusCode

from tfattn.serving.api.failure import Failure
from tfattn.serving.engine.channel import MAX_UNREAD, Stream
from tfattn.serving.generation.output import OutputChunk, Token, Usage

WHOLE = OutputChunk(1, "é", (Token(5, "\xe5", -0.5, (("a", -1.0),)),), "stop", Usage(3, 2, 1))


async def read(stream):
    return [piece async for piece in stream]


def test_a_piece_survives_serialization():
    assert OutputChunk.from_bytes(WHOLE.to_bytes()) == WHOLE
    assert OutputChunk.from_bytes(OutputChunk(0, "x").to_bytes()) == OutputChunk(0, "x")


def test_pieces_arrive_in_order_before_the_end():
    async def life():
        stream = Stream()
        reading = asyncio.create_task(read(stream))
        for piece in (OutputChunk(0, "a"), WHOLE):
            await asyncio.sleep(0)
            stream.put(0, piece.to_bytes())
        assert not stream.is_over
        stream.put(0, b"")
        assert stream.is_over and await reading == [OutputChunk(0, "a"), WHOLE]

    asyncio.run(life())


def test_a_failure_comes_after_earlier_pieces():
    async def life():
        stream = Stream()
        stream.put(0, OutputChunk(0, "a").to_bytes())
        stream.put(StatusCode.UNAVAILABLE.value[0], b"too many")
        assert await anext(stream) == OutputChunk(0, "a")
        with pytest.raises(Failure, match="too many") as failure:
            await anext(stream)
        assert failure.value.code is StatusCode.UNAVAILABLE

    asyncio.run(life())


def test_a_slow_reader_is_disconnected():
    async def life():
        stream = Stream()
        for _ in range(MAX_UNREAD + 5):
            stream.put(0, OutputChunk(0, "a").to_bytes())
        assert not stream.is_over  # the process still generates and must receive a cancellation
        with pytest.raises(Failure, match="more slowly than it is written"):
            await read(stream)

    asyncio.run(life())
