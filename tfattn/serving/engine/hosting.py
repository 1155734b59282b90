"""The work of a version's process once its priority is set: load, warm, answer."""

import contextlib
import threading
from collections.abc import Collection
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

from grpc import StatusCode

from tfattn.errors import TfattnError
from tfattn.serving.api.failure import Failure
from tfattn.serving.engine import messages, warm_up
from tfattn.serving.engine.line import OK, RUN, WRITE, Line
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.engine.texts import Texts
from tfattn.serving.generation.description import writes_texts
from tfattn.serving.generation.request import TextLimits


def host(
    folder: Path,
    line: Line,
    *,
    threads: int,
    allow_operations: Collection[str],
    limits: TextLimits,
    background: Executor,
) -> None:
    """Answer the requests of a line until it is closed.

    The first frames to the server have the number 0: the signatures, when the model is loaded, and how many warm-up
    requests it has answered; or the failure to do either, after which the process ends.

    Args:
        folder: the version's folder.
        line: the line to the server.
        threads: how many requests are computed at a time, each by one thread; texts that are written step by step
            are written together, and each step is computed by so many.
        allow_operations: the operations that the model may have although they do more than compute.
        limits: of the texts that are written step by step.
        background: where to load, and to answer each warm-up request for the first time, which takes longest.
    """
    with ThreadPoolExecutor(threads) as pool:
        try:
            operation_threads = threads if writes_texts(folder) else 1
            options = {"allow_operations": allow_operations, "operation_threads": operation_threads}
            model = background.submit(SavedModel, folder, **options).result()
            line.send(0, OK, messages.signatures(model.signatures.values()))
            requests = background.submit(_warmed, model).result()
            _warm(model, requests, pool, threads)
            texts = contextlib.nullcontext()
            if writes_texts(folder):
                texts = Texts(model, line, limits)
                background.submit(texts.warm_up).result()
        except Failure as failure:
            _refuse(line, 0, failure)
            return
        except TfattnError as error:
            _refuse(line, 0, Failure(StatusCode.FAILED_PRECONDITION, str(error)))
            return
        line.send(0, OK, str(len(requests)).encode())
        with texts:
            for number, kind, body in line.frames():
                if kind == RUN:
                    pool.submit(_answer, model, line, number, body)
                elif kind == WRITE:
                    texts.begin(number, body)
                else:
                    texts.cancel(number)


def _answer(model: SavedModel, line: Line, number: int, body: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server is gone
        try:
            line.send(number, OK, messages.response(model.run(*messages.read_request(body))))
        except Failure as failure:
            _refuse(line, number, failure)
        except Exception as error:  # whatever it is, whoever asked must hear of it
            _refuse(line, number, Failure(StatusCode.INTERNAL, repr(error)))


def _refuse(line: Line, number: int, failure: Failure) -> None:
    line.send(number, failure.code.value[0], failure.message.encode("utf-8", "replace"))


def _warmed(model: SavedModel) -> list[warm_up.WarmUpRequest]:
    """Answer the warm-up requests."""
    requests = list(warm_up.requests(model.folder, model.signatures))
    for request in requests:
        model.run(*request)
    return requests


def _warm(model: SavedModel, requests: list[warm_up.WarmUpRequest], pool: ThreadPoolExecutor, threads: int) -> None:
    """Answer every request in every thread, one after another: oneDNN caches what it prepares for a shape by thread."""
    together, turn = threading.Barrier(threads), threading.Lock()

    def warm() -> None:
        together.wait()
        with turn:
            for request in requests:
                model.run(*request)

    for done in [pool.submit(warm) for _ in range(threads)]:
        done.result()
