"""The work of a version's process: load the model, warm it up, answer requests."""

import contextlib
import functools
import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from grpc import StatusCode
from tensorflow_serving.apis.input_pb2 import Input
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tfattn.errors import TfattnError
from tfattn.litert import Engine, decoder_file
from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import DEFAULT, Signature
from tfattn.serving.api.tensors import from_proto, strings
from tfattn.serving.engine.channel import (
    OK,
    RUN,
    WRITE,
    Channel,
    decode_request,
    encode_response,
    encode_signatures,
)
from tfattn.serving.engine.language_models import open_language_model
from tfattn.serving.engine.litert import LiteRtEngine, open_engine
from tfattn.serving.engine.litert_decoder import LiteRtDecoder
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.engine.text_requests import TextRequests
from tfattn.serving.generation.description import writes_texts
from tfattn.serving.generation.request import TextLimits

FILE = Path("assets.extra") / "tf_serving_warmup_requests"  # the path of TF Serving
MAX_REQUESTS = 1000  # the limit of TF Serving

Model = SavedModel | LiteRtEngine | LiteRtDecoder
WarmUpRequest = tuple[str, dict[str, Any], tuple[str, ...]]


def host(
    folder: Path,
    channel: Channel,
    *,
    engine: Engine,
    threads: int,
    allow_operations: Collection[str],
    limits: TextLimits,
    background: Executor,
    on_ready: Callable[[], None],
) -> None:
    """Load a model and answer the requests of a channel until it is closed.

    The first frames to the server have the number 0: the signatures once the model is loaded, then, after each warm-up
    request, the number of answered requests and of all requests. If a step fails, its frame carries the failure and the
    process ends.

    Args:
        folder: the version's folder.
        channel: the channel to the server.
        engine: see `open_engine`.
        threads: the number of requests that are computed at a time, each by one thread. A language model computes
            each decoding step of its batch with this number of threads, or fewer if LiteRT is then faster.
        allow_operations: the operations to allow although they have side effects.
        limits: the limits of generated text.
        background: the executor that loads the model and first answers each warm-up request, which takes longest.
        on_ready: called before the first request of a client is answered.
    """
    with ThreadPoolExecutor(threads) as pool:
        try:
            has_texts = writes_texts(folder)
            options = {"allow_operations": allow_operations, "operation_threads": threads if has_texts else 1}
            saved_model = functools.partial(SavedModel, folder, **options)
            chosen = {"engine": engine, "num_threads": threads, "fewer_threads": True}
            open_texts = functools.partial(open_language_model, folder, **chosen)
            if not has_texts:
                model = background.submit(open_engine, folder, engine, **options).result()
            elif decoder_file.is_alone(folder):  # clients can call no signatures, only request texts
                model = background.submit(open_texts, saved_model=saved_model).result()
            else:  # its signatures are those of the SavedModel, its texts may be LiteRT's
                model = background.submit(saved_model).result()
            channel.send(0, OK, encode_signatures(model.signatures.values()))
            text_requests: Any = contextlib.nullcontext()
            if has_texts:
                texts = model
                if isinstance(model, SavedModel):
                    texts = background.submit(open_texts, saved_model=lambda: model).result()
                text_requests = TextRequests(texts, channel, limits)
            requests = list(read_requests(folder, model.signatures))
            steps = [functools.partial(model.run, *request) for request in requests]
            steps += [text_requests.warm_up] if has_texts else []
            for number, step in enumerate(steps):
                channel.send(0, OK, json.dumps([number, len(steps)]).encode())
                background.submit(step).result()
            _warm_threads(model, requests, pool, threads)
        except Failure as failure:
            _send_failure(channel, 0, failure)
            return
        except TfattnError as error:
            _send_failure(channel, 0, Failure(StatusCode.FAILED_PRECONDITION, str(error)))
            return
        on_ready()
        channel.send(0, OK, json.dumps([len(steps), len(steps)]).encode())
        with text_requests:
            for number, kind, body in channel.frames():
                if kind == RUN:
                    pool.submit(_answer, model, channel, number, body)
                elif kind == WRITE:
                    text_requests.start(number, body)
                else:
                    text_requests.cancel(number)


def _answer(model: Model, channel: Channel, number: int, body: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server is gone
        try:
            channel.send(number, OK, encode_response(model.run(*decode_request(body))))
        except Failure as failure:
            _send_failure(channel, number, failure)
        except Exception as error:  # any exception must reach the client
            _send_failure(channel, number, Failure(StatusCode.INTERNAL, repr(error)))


def _send_failure(channel: Channel, number: int, failure: Failure) -> None:
    channel.send(number, failure.code.value[0], failure.message.encode("utf-8", "replace"))


def _warm_threads(model: Model, requests: list[WarmUpRequest], pool: ThreadPoolExecutor, threads: int) -> None:
    """Answer every request in every thread in turn: oneDNN caches its primitives per shape and thread."""
    together, turn = threading.Barrier(threads), threading.Lock()

    def warm() -> None:
        together.wait()
        with turn:
            for request in requests:
                model.run(*request)

    for done in [pool.submit(warm) for _ in range(threads)]:
        done.result()


def read_requests(folder: Path, signatures: Mapping[str, Signature]) -> Iterator[WarmUpRequest]:
    """Yield the signature, inputs and outputs of each warm-up request of a version; nothing without a file.

    Raises:
        Failure: the file is damaged.
    """
    if not (folder / FILE).is_file():
        return
    try:
        for record in tf.data.TFRecordDataset(str(folder / FILE)).take(MAX_REQUESTS).as_numpy_iterator():
            yield from _requests(PredictionLog.FromString(record), signatures)
    except (tf.errors.OpError, DecodeError, KeyError, ValueError) as error:
        raise Failure(StatusCode.DATA_LOSS, f"{folder / FILE}: {error}") from None


def _requests(log: PredictionLog, signatures: Mapping[str, Signature]) -> Iterator[WarmUpRequest]:
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        request = log.predict_log.request
        inputs = {name: from_proto(name, proto) for name, proto in request.inputs.items()}
        yield request.model_spec.signature_name or DEFAULT, inputs, tuple(request.output_filter)
    elif kind in ("classify_log", "regress_log", "multi_inference_log"):
        request = getattr(log, kind).request
        for task in request.tasks if kind == "multi_inference_log" else [request]:
            name = task.model_spec.signature_name or DEFAULT
            (input_name,) = signatures[name].inputs
            yield name, {input_name: _examples(request.input)}, ()


def _examples(examples: Input) -> Any:
    if examples.HasField("example_list"):
        return strings([example.SerializeToString() for example in examples.example_list.examples])
    serialized = []
    for example in examples.example_list_with_context.examples:
        merged = type(example)()
        merged.CopyFrom(examples.example_list_with_context.context)
        merged.MergeFrom(example)
        serialized.append(merged.SerializeToString())
    return strings(serialized)
