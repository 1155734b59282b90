"""The line between a server and the process of a version: frames over a socket pair.

A frame is a head and a body. From the server: the number of a request and a PredictRequest. To the server: that number,
a code of gRPC's, and a PredictResponse or, for any code but OK, the message.
"""

import socket
import struct
import threading
from collections.abc import Iterator

HEAD = struct.Struct("<QHQ")  # number, code, length of the body
OK = 0


def frame(number: int, code: int, body: bytes) -> bytes:
    """Make the bytes of a frame."""
    return HEAD.pack(number, code, len(body)) + body


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

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Yield what the server sends, numbers and bodies, until it closes the line."""
        while head := self._file.read(HEAD.size):
            number, _, length = HEAD.unpack(head)
            yield number, self._file.read(length)
