"""The line between a server and the process of a version: frames over a socket pair.

A frame is a head and a body. From the server: the number of a request, its kind, and what is asked.

    RUN       a PredictRequest
    WRITE     a request for texts (generation/request.py)
    CANCEL    nothing: nobody waits for these texts any more

To the server: that number, a code of gRPC's, and for any code but OK the message; else what is answered.

    RUN       a PredictResponse
    WRITE     any number of frames, each a piece of a text (generation/piece.py), and at last one of nothing, also
              where the request was cancelled: by that the server sees that the process still works

Frames of the number 0 tell of the process itself.
"""

import socket
import struct
import threading
from collections.abc import Iterator

HEAD = struct.Struct("<QHQ")  # number, kind or code, length of the body
RUN, WRITE, CANCEL = range(3)
OK = 0


def frame(number: int, kind: int, body: bytes) -> bytes:
    """Make the bytes of a frame; to the server its code stands in the place of the kind."""
    return HEAD.pack(number, kind, len(body)) + body


class Line:
    """The process's end of the line to the server; any thread may send."""

    def __init__(self, end: socket.socket):
        self._end = end
        self._file = end.makefile("rb")
        self._lock = threading.Lock()

    def send(self, number: int, code: int, body: bytes) -> None:
        """Send a frame; nothing is sent once the server is gone."""
        with self._lock:
            self._end.sendall(frame(number, code, body))

    def frames(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield what the server sends, numbers, kinds and bodies, until it closes the line."""
        while head := self._file.read(HEAD.size):
            number, kind, length = HEAD.unpack(head)
            yield number, kind, self._file.read(length)
