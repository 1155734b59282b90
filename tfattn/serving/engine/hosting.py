"""The work of a version's process: load the model, warm it up, answer requests."""

import contextlib
import threading
from collections.abc import Collection
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

from grpc import StatusCode

from tfattn.errors import TfattnError
from tfattn.serving.api.failure import Failure
from tfattn.serving.engine import warm_up
from tfattn.serving.engine.channel import (
    OK,
    RUN,
    WRITE,
    Channel,
    decode_request,
    encode_response,
    encode_signatures,
)
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.engine.text_requests import TextRequests
from tfattn.serving.generation.description import writes_texts
from tfattn.serving.generation.request import TextLimits


def host(
    folder: Path,
    channel: Channel,
    *,
    threads: int,
    allow_operations: Collection[str],
    limits: TextLimits,
    background: Executor,
) -> None:
    """Load a model and answer the requests of a channel until it is closed.

    The first frames to the server have the number 0: the signatures once the model is loaded, then the number of
    answered warm-up requests. If either step fails, the frame carries the failure and the process ends.

    Args:
        folder: the version's folder.
        channel: the channel to the server.
        threads: the number of requests that are computed at a time, each by one thread. A language model computes
            each decoding step of its batch with this number of threads.
        allow_operations: the operations to allow although they have side effects.
        limits: the limits of generated text.
        background: the executor that loads the model and first answers each warm-up request, which takes longest.
    """
    with ThreadPoolExecutor(threads) as pool:
        try:
            operation_threads = threads if writes_texts(folder) else 1
            options = {"allow_operations": allow_operations, "operation_threads": operation_threads}
            model = background.submit(SavedModel, folder, **options).result()
            channel.send(0, OK, encode_signatures(model.signatures.values()))
            warm_up_requests = background.submit(_answer_warm_up_requests, model).result()
            _warm_threads(model, warm_up_requests, pool, threads)
            text_requests = contextlib.nullcontext()
            if writes_texts(folder):
                text_requests = TextRequests(model, channel, limits)
                background.submit(text_requests.warm_up).result()
        except Failure as failure:
            _send_failure(channel, 0, failure)
            return
        except TfattnError as error:
            _send_failure(channel, 0, Failure(StatusCode.FAILED_PRECONDITION, str(error)))
            return
        channel.send(0, OK, str(len(warm_up_requests)).encode())
        with text_requests:
            for number, kind, body in channel.frames():
                if kind == RUN:
                    pool.submit(_answer, model, channel, number, body)
                elif kind == WRITE:
                    text_requests.start(number, body)
                else:
                    text_requests.cancel(number)


def _answer(model: SavedModel, channel: Channel, number: int, body: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server is gone
        try:
            channel.send(number, OK, encode_response(model.run(*decode_request(body))))
        except Failure as failure:
            _send_failure(channel, number, failure)
        except Exception as error:  # any exception must reach the client
            _send_failure(channel, number, Failure(StatusCode.INTERNAL, repr(error)))


def _send_failure(channel: Channel, number: int, failure: Failure) -> None:
    channel.send(number, failure.code.value[0], failure.message.encode("utf-8", "replace"))


def _answer_warm_up_requests(model: SavedModel) -> list[warm_up.WarmUpRequest]:
    """Answer the warm-up requests."""
    requests = list(warm_up.requests(model.folder, model.signatures))
    for request in requests:
        model.run(*request)
    return requests


def _warm_threads(
    model: SavedModel, requests: list[warm_up.WarmUpRequest], pool: ThreadPoolExecutor, threads: int
) -> None:
    """Answer every request in every thread in turn: oneDNN caches its primitives per shape and thread."""
    together, turn = threading.Barrier(threads), threading.Lock()

    def warm() -> None:
        together.wait()
        with turn:
            for request in requests:
                model.run(*request)

    for done in [pool.submit(warm) for _ in range(threads)]:
        done.result()
