"""Random requests at the same moment: each row is answered as if it were alone."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import numpy as np
import pytest
from tensorflow_serving.apis.predict_pb2 import PredictResponse

from benchmarks.serving.client import METHOD
from benchmarks.serving.load import rpc_request
from benchmarks.serving.running import Running
from tfattn.serving.api.tensors import from_proto

pytestmark = pytest.mark.alone

TEXTS = 400
LONGEST = 300  # characters
REQUESTS = (2, 24)  # at the same moment
ROWS = (1, 2)  # of a request
CHANNELS = 4
TOLERANCE = 1e-5
BATCHING = ":tensorflow:serving:batching_session"

Row = dict[str, Any]  # an array of scores, a label as bytes ...


@dataclass
class CoBatching:
    """What was compared.

    Attributes:
        requests: how many there were.
        rows: how many answers were compared with that of the same text alone.
        batches: how many batches they were computed in.
        unequal: how many had another label or another number, TOLERANCE apart or more.
        difference: the largest difference of two numbers.
    """

    requests: int = 0
    rows: int = 0
    batches: int = 0
    unequal: int = 0
    difference: float = 0.0

    def compare(self, row: Row, alone: Row) -> None:
        """Counts one row."""
        self.rows += 1
        numbers = {name for name, value in alone.items() if np.issubdtype(np.asarray(value).dtype, np.floating)}
        difference = max(float(np.abs(row[name] - alone[name]).max()) for name in numbers)
        self.difference = max(self.difference, difference)
        self.unequal += difference > TOLERANCE or any(
            not np.array_equal(row[name], alone[name]) for name in alone.keys() - numbers
        )


@pytest.mark.parametrize("times", [60, pytest.param(10_000, marks=pytest.mark.slow)])
def test_company_changes_no_prediction(server, texts, times):
    seen = asyncio.run(compared(server, "reports", texts, times=times))
    assert not seen.unequal, f"by up to {seen.difference}"
    assert seen.batches < 0.9 * seen.requests


async def compared(server: Running, model: str, texts: Sequence[str], *, times: int) -> CoBatching:
    """Random texts, first one by one, then many times in random company."""
    source = random.Random(0)
    channels = [
        grpc.aio.insecure_channel(server.grpc, [("grpc.use_local_subchannel_pool", 1)]) for _ in range(CHANNELS)
    ]
    calls = [channel.unary_unary(METHOD) for channel in channels]
    asked = [random_text(texts, source) for _ in range(TEXTS)]
    alone = {text: (await _rows(calls[0], model, [text]))[0] for text in asked}
    seen = CoBatching()
    before = await _figures(server)
    for _ in range(times):
        chosen = [source.choices(asked, k=source.randint(*ROWS)) for _ in range(source.randint(*REQUESTS))]
        answers = await asyncio.gather(*(_rows(source.choice(calls), model, rows) for rows in chosen))
        seen.requests += len(chosen)
        for rows, answer in zip(chosen, answers, strict=True):
            for text, row in zip(rows, answer, strict=True):
                seen.compare(row, alone[text])
    batches, rows = await _figures(server)
    assert rows - before[1] == seen.rows, "the server counts other rows than were asked for"
    seen.batches = round(batches - before[0])
    for channel in channels:
        await channel.close()
    return seen


def random_text(texts: Sequence[str], source: random.Random) -> str:
    """Words of reports, in any order and number, here and there with letters that no report has."""
    words = " ".join(source.choices(texts, k=8)).split()
    source.shuffle(words)
    text = " ".join(words)[: source.randint(0, LONGEST)]
    strange = "".join(chr(source.choice([*range(0x20, 0x250), *range(0x4E00, 0x4E80), 0x1F600])) for _ in range(8))
    return text + strange * source.randint(0, 1)


async def _rows(call: grpc.aio.UnaryUnaryMultiCallable, model: str, texts: Sequence[str]) -> list[Row]:
    response = PredictResponse.FromString(await call(rpc_request(model, texts), timeout=60))
    outputs = {name: from_proto(name, proto) for name, proto in response.outputs.items()}
    return [{name: array[index] for name, array in outputs.items()} for index in range(len(texts))]


async def _figures(server: Running) -> tuple[float, float]:
    names = (f"{BATCHING}:wrapped_run_count", f"{BATCHING}:processed_batch_size_sum")
    return tuple([await asyncio.to_thread(server.figure, name) for name in names])
