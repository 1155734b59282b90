"""Texts over the line: several frames for a number and then one of nothing, cancel frames, what the process says."""

import contextlib
import json
import socket
import threading

import pytest
from grpc import StatusCode

from tests.serving.generation.stand_in import StandIn
from tfattn.guidance.guides import Guides
from tfattn.serving.engine.line import HEAD, Line
from tfattn.serving.engine.texts import Texts
from tfattn.serving.generation.output import OutputChunk
from tfattn.serving.generation.request import Request, TextLimits

INVALID = StatusCode.INVALID_ARGUMENT.value[0]


class Server:
    """The server's end of the line."""

    def __init__(self, end: socket.socket):
        self._file = end.makefile("rb")

    def frame(self):
        """The next frame: number, code, body."""
        number, code, length = HEAD.unpack(self._file.read(HEAD.size))
        return number, code, self._file.read(length)

    def frames(self, number: int):
        """The frames of a number up to its last."""
        found = []
        while not found or (found[-1][0] == 0 and found[-1][1]):
            frame = self.frame()
            found += [frame[1:]] if frame[0] == number else []
        return found

    def wait_until_idle(self):
        """Reads on until the process says that it writes nothing."""
        while self.frame() != (0, 0, json.dumps([0, 0]).encode()):
            pass


@pytest.fixture
def line():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(20)
        yield Line(theirs), Server(ours)


@contextlib.contextmanager
def writing(folder, line):
    with Texts(StandIn(folder), line, TextLimits(max_running=2)) as texts:
        yield texts


def request(**settings):
    return Request(**{"prompts": ("Once",), "seed": 1, "max_new_tokens": 8} | settings).model_dump_json().encode()


def test_pieces_come_under_the_number_of_the_request_and_then_nothing(line, tmp_path):
    process, server = line
    with writing(tmp_path, process) as texts:
        texts.begin(7, request())
        *pieces, last = server.frames(7)
        assert last == (0, b"") and all(code == 0 for code, _ in pieces)
        whole = [OutputChunk.from_bytes(body) for _, body in pieces]
        assert whole[-1].finish_reason and whole[-1].usage.written <= 8
        server.wait_until_idle()
        texts.begin(8, request())
        again = [OutputChunk.from_bytes(body) for _, body in server.frames(8)[:-1]]
        assert [piece.text for piece in again] == [piece.text for piece in whole]


def test_a_cancelled_request_is_told_nothing_more_and_leaves_its_place(line, tmp_path):
    process, server = line
    with writing(tmp_path, process) as texts:
        texts.begin(1, request(max_new_tokens=150, ignore_eos=True))
        while server.frame()[0] != 1:
            pass
        texts.cancel(1)
        assert server.frames(1)[-1] == (0, b"")  # the process confirms it
        server.wait_until_idle()
        texts.begin(2, request())
        frames = [server.frame() for _ in range(3)]
        assert {number for number, *_ in frames} <= {0, 2}
        texts.cancel(99)  # of a request that has ended


def test_what_cannot_be_written_is_told_with_its_code(line, tmp_path):
    process, server = line
    with writing(tmp_path, process) as texts:
        texts.begin(3, request(prompts=("x" * 500,)))
        ((code, message),) = server.frames(3)
        assert code == INVALID and b"500 tokens" in message
        texts.begin(4, b'{"prompts": ["Once"], "temperature": -1}')
        ((code, message),) = server.frames(4)
        assert code == INVALID and b"temperature" in message


def test_what_is_unfinished_as_the_process_ends_is_told_so(line, tmp_path):
    process, server = line
    with writing(tmp_path, process) as texts:
        texts.begin(5, request(max_new_tokens=150, ignore_eos=True))
        while server.frame()[0] != 5:
            pass
    code, _ = server.frames(5)[-1]
    assert code in (0, StatusCode.UNAVAILABLE.value[0])  # it may just have ended


def test_other_texts_go_on_while_a_guide_is_compiled(line, tmp_path, monkeypatch):
    compiled, may_end = Guides._compiled, threading.Event()

    def late(*arguments):
        assert may_end.wait(30)
        return compiled(*arguments)

    monkeypatch.setattr(Guides, "_compiled", late)
    line, server = line
    with writing(tmp_path, line) as texts:
        texts.begin(1, request(guided={"guided_choice": ["a"]}))
        texts.begin(2, request())
        assert server.frames(2)[-1] == (0, b"")
        may_end.set()
        assert server.frames(1)[-1] == (0, b"")
