"""Requests for generated text over the channel: frames of pieces, cancellation, failures and reports of occupancy."""

import contextlib
import json
import socket
import threading

import pytest
from grpc import StatusCode

from tests.serving.generation.stand_in import StandIn
from tfattn.guidance.guides import Guides
from tfattn.serving.engine.channel import HEAD, Channel
from tfattn.serving.engine.text_requests import TextRequests
from tfattn.serving.generation.output import OutputChunk
from tfattn.serving.generation.request import Request, TextLimits

INVALID = StatusCode.INVALID_ARGUMENT.value[0]


class Server:
    """The server end of the channel."""

    def __init__(self, end: socket.socket):
        self._file = end.makefile("rb")

    def frame(self):
        """Return the number, code and body of the next frame."""
        number, code, length = HEAD.unpack(self._file.read(HEAD.size))
        return number, code, self._file.read(length)

    def frames(self, number: int):
        """Return the frames of a number up to its last frame."""
        found = []
        while not found or (found[-1][0] == 0 and found[-1][1]):
            frame = self.frame()
            found += [frame[1:]] if frame[0] == number else []
        return found

    def wait_until_idle(self):
        """Read until the process reports that it is idle."""
        while self.frame() != (0, 0, json.dumps([0, 0]).encode()):
            pass


@pytest.fixture
def channel():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(20)
        yield Channel(theirs), Server(ours)


@contextlib.contextmanager
def running(folder, channel):
    with TextRequests(StandIn(folder), channel, TextLimits(max_running=2)) as requests:
        yield requests


def request(**settings):
    return Request(**{"prompts": ("Once",), "seed": 1, "max_tokens": 8} | settings).model_dump_json().encode()


def test_pieces_carry_the_number_of_the_request_and_an_empty_frame_ends_them(channel, tmp_path):
    process, server = channel
    with running(tmp_path, process) as requests:
        requests.start(7, request())
        *pieces, last = server.frames(7)
        assert last == (0, b"") and all(code == 0 for code, _ in pieces)
        whole = [OutputChunk.from_bytes(body) for _, body in pieces]
        assert whole[-1].finish_reason and whole[-1].usage.written <= 8
        server.wait_until_idle()
        requests.start(8, request())
        assert [OutputChunk.from_bytes(body).text for _, body in server.frames(8)[:-1]] == [
            piece.text for piece in whole
        ]


def test_a_cancelled_request_ends_and_frees_its_slot(channel, tmp_path):
    process, server = channel
    with running(tmp_path, process) as requests:
        requests.start(1, request(max_tokens=150, ignore_eos=True))
        while server.frame()[0] != 1:
            pass
        requests.cancel(1)
        assert server.frames(1)[-1] == (0, b"")  # the process confirms it
        server.wait_until_idle()
        requests.start(2, request())
        frames = [server.frame() for _ in range(3)]
        assert {number for number, *_ in frames} <= {0, 2}
        requests.cancel(99)  # of a request that has ended


def test_an_invalid_request_fails_with_its_status_code(channel, tmp_path):
    process, server = channel
    with running(tmp_path, process) as requests:
        requests.start(3, request(prompts=("x" * 500,)))
        ((code, message),) = server.frames(3)
        assert code == INVALID and b"500 tokens" in message
        requests.start(4, b'{"prompts": ["Once"], "temperature": -1}')
        ((code, message),) = server.frames(4)
        assert code == INVALID and b"temperature" in message


def test_an_unfinished_request_fails_when_the_process_ends(channel, tmp_path):
    process, server = channel
    with running(tmp_path, process) as requests:
        requests.start(5, request(max_tokens=150, ignore_eos=True))
        while server.frame()[0] != 5:
            pass
    code, _ = server.frames(5)[-1]
    assert code in (0, StatusCode.UNAVAILABLE.value[0])  # it may just have ended


def test_other_requests_continue_while_a_guide_is_compiled(channel, tmp_path, monkeypatch):
    compiled, may_end = Guides._compiled, threading.Event()

    def late(*arguments):
        assert may_end.wait(30)
        return compiled(*arguments)

    monkeypatch.setattr(Guides, "_compiled", late)
    channel, server = channel
    with running(tmp_path, channel) as requests:
        requests.start(1, request(guided={"guided_choice": ["a"]}))
        requests.start(2, request())
        assert server.frames(2)[-1] == (0, b"")
        may_end.set()
        assert server.frames(1)[-1] == (0, b"")
