"""Batching changes no answer, isolates failures and computes no abandoned request."""

import asyncio
import itertools
import math
import random
from unittest import mock

import numpy as np
import pytest
from grpc import StatusCode
from tensorflow.core.framework.types_pb2 import DT_FLOAT, DT_STRING
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import Signature
from tfattn.serving.api.tensors import strings
from tfattn.serving.engine import batching
from tfattn.serving.engine.batching import Batcher
from tfattn.serving.engine.batching_parameters import BatchingParameters
from tfattn.serving.engine.process import ProcessDied


def signature(dtype=DT_FLOAT, name="serving_default", rows=-1) -> Signature:
    message = SignatureDef(method_name="tensorflow/serving/predict")
    for tensors, key in ((message.inputs, "x"), (message.outputs, "y")):
        tensors[key].dtype = dtype
        tensors[key].tensor_shape.dim.add(size=rows)
    return Signature.of(name, message)


class Model:
    """A model that doubles numbers and records batches; it fails on 13, dies on 666 and waits for a gate, if any."""

    def __init__(self, gate: asyncio.Event | None = None):
        self.batches: list[list[float]] = []
        self.gate = gate
        self.running = self.max_running = 0

    async def __call__(self, name, inputs, outputs, deadline):
        values = inputs["x"].ravel().tolist()
        self.batches.append(values)
        self.running += 1
        self.max_running = max(self.max_running, self.running)
        try:
            await (self.gate.wait() if self.gate else asyncio.sleep(0))
        finally:
            self.running -= 1
        if 666 in values:
            raise ProcessDied
        if 13 in values:
            raise Failure(StatusCode.INVALID_ARGUMENT, "thirteen")
        return {"y": inputs["x"] * 2 if inputs["x"].dtype != object else inputs["x"]}


class NullObserver:
    def batch(self, **facts): ...

    def queue(self, **facts): ...


def batcher(model, *, threads=1, **parameters) -> Batcher:
    return Batcher(model, parameters=BatchingParameters(**parameters), threads=threads, observer=NullObserver())


async def ask(batcher, *values, deadline=None, of=None):
    outputs = await batcher.run(of or signature(), {"x": np.array(values, np.float32)}, (), deadline)
    return outputs["y"].tolist()


def asynchronous(test):
    def run():
        asyncio.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@asynchronous
async def test_requests_that_wait_together_are_computed_together():
    gate = asyncio.Event()
    model = Model(gate)
    shared = batcher(model)
    first = asyncio.create_task(ask(shared, 0))
    await asyncio.sleep(0)
    others = [asyncio.create_task(ask(shared, value, value + 0.5)) for value in range(1, 6)]
    await asyncio.sleep(0)
    gate.set()
    assert await first == [0]
    assert await asyncio.gather(*others) == [[2 * value, 2 * value + 1] for value in range(1, 6)]
    assert len(model.batches) == 2 and len(model.batches[1]) == 10


@asynchronous
async def test_the_rows_of_a_batch_and_the_running_batches_are_bounded():
    model = Model()
    shared = batcher(model, max_batch_size=4, max_queued_batches=100, threads=2)
    answers = await asyncio.gather(*(ask(shared, value) for value in range(100, 150)))
    assert answers == [[2.0 * value] for value in range(100, 150)]
    assert max(map(len, model.batches)) <= 4 and model.max_running == 2


@asynchronous
async def test_an_invalid_row_fails_alone():
    shared = batcher(Model())
    answers = await asyncio.gather(*(ask(shared, value) for value in range(20)), return_exceptions=True)
    failed = [index for index, answer in enumerate(answers) if isinstance(answer, Failure)]
    assert failed == [13] and answers[13].message == "thirteen"
    assert [answer for index, answer in enumerate(answers) if index != 13] == [[2 * v] for v in range(20) if v != 13]


@asynchronous
async def test_a_row_that_kills_the_process_fails_alone_and_the_others_are_tried_again():
    shared = batcher(Model())
    answers = await asyncio.gather(*(ask(shared, value) for value in (1, 666, 3)), return_exceptions=True)
    assert answers[0] == [2] and answers[2] == [6]
    assert answers[1].code is StatusCode.INTERNAL


@asynchronous
async def test_a_full_queue_refuses_at_once():
    gate = asyncio.Event()
    shared = batcher(Model(gate), max_batch_size=2, max_queued_batches=3)
    tasks = [asyncio.create_task(ask(shared, value)) for value in range(10)]
    await asyncio.sleep(0)
    refused = [task for task in tasks if task.done()]
    assert len(refused) == 3  # one is computed, six wait
    assert {task.exception().code for task in refused} == {StatusCode.UNAVAILABLE}
    gate.set()
    assert len([answer for answer in await asyncio.gather(*tasks, return_exceptions=True) if answer in ([0], [2])]) == 2


@asynchronous
async def test_abandoned_requests_are_not_computed():
    gate = asyncio.Event()
    model = Model(gate)
    shared = batcher(model)
    first = asyncio.create_task(ask(shared, 1))
    await asyncio.sleep(0)
    left = asyncio.create_task(ask(shared, 2))
    late = asyncio.create_task(ask(shared, 3, deadline=asyncio.get_running_loop().time() + 0.01))
    stays = asyncio.create_task(ask(shared, 4))
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(Failure) as failure:
        await late
    assert failure.value.code is StatusCode.DEADLINE_EXCEEDED
    gate.set()
    assert await first == [2] and await stays == [8]
    assert model.batches == [[1], [4]]


@asynchronous
async def test_a_request_that_cannot_be_answered_in_time_is_refused_at_once():
    loop = asyncio.get_running_loop()

    async def slow(name, inputs, outputs, deadline):
        await asyncio.sleep(0.05)
        return {"y": inputs["x"]}

    shared = batcher(slow, max_batch_size=1)
    await ask(shared, 0)
    waiting = [asyncio.create_task(ask(shared, value)) for value in range(5)]
    await asyncio.sleep(0)
    with (
        mock.patch.object(batching, "MAX_WAIT", math.inf),  # a slow machine would exceed the limit
        pytest.raises(Failure, match="too long for the request's deadline"),
    ):
        await ask(shared, 9, deadline=loop.time() + 0.1)
    assert await ask(shared, 9, deadline=loop.time() + 10) == [9]
    await asyncio.gather(*waiting)


@asynchronous
async def test_a_request_larger_than_a_batch_goes_through_in_parts():
    model = Model()
    shared = batcher(model, max_batch_size=4, threads=2)
    assert await ask(shared, *range(11)) == [2.0 * value for value in range(11)]
    assert sorted(map(len, model.batches)) == [3, 4, 4]


@asynchronous
async def test_only_requests_of_equal_shapes_and_lengths_share_a_batch():
    model = Model()
    shared = batcher(model)
    text, fixed = signature(DT_STRING, "text"), signature(name="fixed", rows=1)

    async def ask_text(text_):
        return (await shared.run(text, {"x": strings([text_])}, (), None))["y"].tolist()

    async def wide(value):
        return (await shared.run(signature(), {"x": np.full((1, 2), value, np.float32)}, (), None))["y"].tolist()

    jobs = [ask(shared, 1), ask(shared, 2), wide(3), ask(shared, 4, of=fixed), ask(shared, 5, of=fixed)]
    jobs += [ask_text(b"short"), ask_text(b"s"), ask_text(b"l" * 1000), ask_text(b"l" * 900), ask(shared, 6)]
    await asyncio.gather(*jobs)
    batches = [tuple(batch) for batch in model.batches]
    assert batches[0] == (1,) and (2, 6) in batches and (3, 3) in batches and (4,) in batches and (5,) in batches
    assert (b"short", b"s") in batches and (b"l" * 1000, b"l" * 900) in batches


@asynchronous
async def test_signatures_without_an_output_per_row_are_computed_alone():
    calls = []

    async def total(name, inputs, outputs, deadline):
        calls.append(len(inputs["x"]))
        await asyncio.sleep(0)
        return {"y": inputs["x"].sum(keepdims=True)}

    shared = batcher(total)
    assert await asyncio.gather(*(ask(shared, value, 1) for value in range(4))) == [[1], [2], [3], [4]]
    calls.clear()
    assert await asyncio.gather(*(ask(shared, value, 1) for value in range(4))) == [[1], [2], [3], [4]]
    assert calls == [2, 2, 2, 2]


@asynchronous
async def test_a_request_in_parts_is_as_wide_as_its_longest_row_and_padded_as_the_model_does():
    async def spelled(name, inputs, outputs, deadline):
        await asyncio.sleep(0)
        lengths = inputs["x"].astype(int)
        ends = np.arange(max(lengths, default=0)) < lengths[:, None]  # (B, T)
        squares = ends[:, :, None] & ends[:, None]
        return {
            "numbers": ends * np.float32(7),
            "words": np.where(ends, b"w", b"").astype(object),
            "target_segments": np.where(ends, 0, -1),
            "weights": squares * 0.5,
        }

    for parameters in itertools.product((1, 2, 3, 5, 9), (0, 0.001), (1, 2)):
        size, timeout, threads = parameters
        shared = batcher(spelled, max_batch_size=size, timeout=timeout, threads=threads, max_queued_batches=20)
        for lengths in ([1, 3, 0, 2, 3], [0, 0, 0, 0, 1], [2] * 5):
            x = np.array(lengths, np.float32)
            whole = await spelled("", {"x": x}, (), None)
            answers = await asyncio.gather(*(shared.run(signature(), {"x": x}, (), None) for _ in range(2)))
            for answer in answers:
                assert answer.keys() == whole.keys()
                for name, values in whole.items():
                    assert answer[name].dtype == values.dtype
                    np.testing.assert_array_equal(answer[name], values)


@asynchronous
async def test_a_large_request_without_an_output_per_row_is_computed_whole():
    async def total(name, inputs, outputs, deadline):
        await asyncio.sleep(0)
        return {"y": inputs["x"].sum(keepdims=True)}

    shared = batcher(total, max_batch_size=2, threads=2)
    for _ in range(2):
        assert await ask(shared, 1, 2, 3, 4, 5) == [15]


@asynchronous
async def test_an_incomplete_batch_waits_for_more_rows_but_not_for_ever():
    model = Model()
    shared = batcher(model, timeout=0.02, max_batch_size=3, threads=2)
    assert await asyncio.gather(*(ask(shared, value) for value in range(1, 5))) == [[2], [4], [6], [8]]
    assert await ask(shared, 5) == [10]
    assert model.batches == [[1], [2, 3, 4], [5]]  # an idle model waits for nothing


@asynchronous
async def test_without_parameters_each_request_is_alone():
    model = Model()
    alone = Batcher(model, parameters=None, threads=1, observer=NullObserver())
    assert await asyncio.gather(*(ask(alone, value) for value in range(5))) == [[2.0 * value] for value in range(5)]
    assert model.batches == [[value] for value in range(5)]


@asynchronous
async def test_each_request_is_answered_as_if_it_were_alone():
    chance = random.Random(5)
    shared = batcher(Model(), max_batch_size=5, max_queued_batches=1000, threads=3)

    async def one(values, patience):
        await asyncio.sleep(chance.random() * 0.01)
        return await asyncio.wait_for(ask(shared, *values), patience)

    requests = [[chance.choice([1, 2, 3, 13]) for _ in range(chance.randint(1, 8))] for _ in range(300)]
    with mock.patch.object(batching, "MAX_WAIT", math.inf):  # a slow machine would exceed the limit
        answers = await asyncio.gather(
            *(one(values, chance.choice([0.001, 10])) for values in requests), return_exceptions=True
        )
    for values, answer in zip(requests, answers, strict=True):
        if isinstance(answer, Failure):
            assert 13 in values
        elif not isinstance(answer, TimeoutError):
            assert answer == [2.0 * value for value in values] and 13 not in values
    assert shared._queued_rows == 0 and shared._free == 3 and not shared._groups


@asynchronous
async def test_a_request_without_rows_is_answered():
    assert await ask(batcher(Model())) == []
