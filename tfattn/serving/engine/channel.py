"""The channel between a server and the process of a version: frames over a socket pair.

A frame is a head and a body. From the server: the number of a request, its kind, and the request.

    RUN       a PredictRequest
    WRITE     a request for generated text (generation/request.py)
    CANCEL    empty: cancels a WRITE request

To the server: the number of the request, a gRPC status code, and an error message for every code but OK. With OK:

    RUN       a PredictResponse
    WRITE     any number of frames, each a piece of a text (generation/piece.py), then an empty frame. The empty frame
              also ends a cancelled request, and so shows the server that the process still works

Frames with the number 0 report the state of the process itself.
"""

import asyncio
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from grpc import StatusCode
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse

from tfattn.serving.api.failure import CODES, Failure
from tfattn.serving.api.signature import Signature
from tfattn.serving.api.tensors import fill, from_proto
from tfattn.serving.generation.output import OutputChunk

HEAD = struct.Struct("<QHQ")  # number, kind or code, length of the body
RUN, WRITE, CANCEL = range(3)
OK = 0

Arrays = dict[str, np.ndarray]


def frame(number: int, kind: int, body: bytes) -> bytes:
    """Encode a frame. Frames to the server carry a status code instead of a kind."""
    return HEAD.pack(number, kind, len(body)) + body


class Channel:
    """The process's end of the channel to the server; any thread may send."""

    def __init__(self, end: socket.socket):
        self._end = end
        self._file = end.makefile("rb")
        self._lock = threading.Lock()

    def send(self, number: int, code: int, body: bytes) -> None:
        """Send a frame.

        Raises:
            BrokenPipeError, ConnectionResetError: the server has closed the channel.
        """
        with self._lock:
            self._end.sendall(frame(number, code, body))

    def frames(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the number, kind and body of each frame from the server until it closes the channel."""
        while head := self._file.read(HEAD.size):
            number, kind, length = HEAD.unpack(head)
            yield number, kind, self._file.read(length)


def encode_request(signature: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> bytes:
    """Encode a request to compute the named outputs of a signature."""
    message = PredictRequest(output_filter=outputs)
    message.model_spec.signature_name = signature
    for name, array in inputs.items():
        fill(message.inputs[name], array, as_content=True)
    return message.SerializeToString()


def decode_request(body: bytes) -> tuple[str, Arrays, tuple[str, ...]]:
    """Decode a request into its signature, its inputs and the names of the requested outputs."""
    message = PredictRequest.FromString(body)
    inputs = {name: from_proto(name, proto) for name, proto in message.inputs.items()}
    return message.model_spec.signature_name, inputs, tuple(message.output_filter)


def encode_response(outputs: Mapping[str, np.ndarray]) -> bytes:
    """Encode the outputs of a request."""
    message = PredictResponse()
    for name, array in outputs.items():
        fill(message.outputs[name], array, as_content=True)
    return message.SerializeToString()


def decode_response(body: bytes) -> Arrays:
    """Decode outputs by name."""
    return {name: from_proto(name, proto) for name, proto in PredictResponse.FromString(body).outputs.items()}


def encode_signatures(signatures: Iterable[Signature]) -> bytes:
    """Encode the signatures of a model."""
    signature_def = {signature.name: signature.message for signature in signatures}
    return SignatureDefMap(signature_def=signature_def).SerializeToString()


def decode_signatures(body: bytes) -> dict[str, Signature]:
    """Decode the signatures of a model by name."""
    signature_def = SignatureDefMap.FromString(body).signature_def
    return {name: Signature.of(name, signature_def[name]) for name in sorted(signature_def)}


MAX_UNREAD = 10_000  # pieces that wait for a client that reads more slowly than the model generates


class Stream:
    """An asynchronous iterator of the generated pieces of one request.

    Attributes:
        is_over: whether the process has sent its last frame for the request.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._unread: deque[OutputChunk] = deque()
        self._ending: Exception | None = None
        self._has_ended = False
        self._changed = asyncio.Event()

    def put(self, code: int, body: bytes) -> None:
        """Add a frame of the channel."""
        self.is_over = code != OK or not body
        if code != OK:
            self.end(Failure(CODES[code], body.decode("utf-8", "replace")))
        elif not body:
            self.end()
        elif len(self._unread) >= MAX_UNREAD:
            self.end(Failure(StatusCode.RESOURCE_EXHAUSTED, "The text is read more slowly than it is written"))
        else:
            self._unread.append(OutputChunk.from_bytes(body))
            self._changed.set()

    def end(self, failure: Exception | None = None) -> None:
        """End the stream after its unread pieces; the first call decides how it ends."""
        if not self._has_ended:
            self._has_ended, self._ending = True, failure
            self._changed.set()

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> OutputChunk:
        while not self._unread:
            if self._ending is not None:
                raise self._ending
            if self._has_ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._unread.popleft()
