"""A version in a process of its own: it loads, warms, answers, survives its process, and goes when nobody needs it."""

import asyncio
import json
import multiprocessing
import os
import resource
import shutil
import signal

import numpy as np
import pytest
import tensorflow as tf
from grpc import StatusCode
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from benchmarks.serving.running import wait_until
from tfattn import files
from tfattn.serving.api.failure import Failure
from tfattn.serving.api.tensors import strings, to_proto
from tfattn.serving.engine.batching_parameters import BatchingParameters
from tfattn.serving.engine.worker import NICENESS
from tfattn.serving.generation.request import Request
from tfattn.serving.models.version import MAX_RESTARTS, Version, VersionState
from tfattn.serving.monitoring.metrics import Metrics
from tfattn.serving.section import Serving

SHORT, LONG = {"text": strings([b"x"])}, {"text": strings([b"x" * 30])}


def version(folder, **settings) -> Version:
    serving = Serving(worker_threads=1, **settings)
    return Version("reports", 9, folder, serving=serving, parameters=BatchingParameters(), metrics=Metrics())


async def label(version, inputs) -> str:
    return (await version.run("serving_default", inputs, ("label",), None))["label"][0].decode()


@pytest.fixture
def folder(models, tmp_path):
    return shutil.copytree(models / "reports/9", tmp_path / "9")


def test_a_version_lives_answers_dies_is_started_again_and_ends(folder, capfd):
    async def life():
        served = version(folder)
        assert served.state is VersionState.START
        await served.load()
        assert served.progress == "warming up: 0 of 0 requests answered"
        assert served.state is VersionState.AVAILABLE and list(served.signatures) == ["serving_default"]
        assert os.getpriority(os.PRIO_PROCESS, (await served._process)._process.pid) == NICENESS
        assert [await label(served, SHORT), await label(served, LONG)] == ["Électronique", "Leak"]
        with pytest.raises(Failure) as failure:
            await served.run("serving_default", {"text": np.float32([1])}, (), None)
        assert failure.value.code is StatusCode.INVALID_ARGUMENT

        first = (await served._process)._process.pid
        os.kill(first, signal.SIGKILL)
        answers = await asyncio.gather(*(label(served, LONG) for _ in range(20)))
        assert answers == ["Leak"] * 20
        assert served.state is VersionState.AVAILABLE and (await served._process)._process.pid != first

        using = asyncio.create_task(label(served, LONG))
        await asyncio.sleep(0)
        await served.unload()
        assert using.done() and await using == "Leak"  # it was in use: that came first
        assert served.state is VersionState.END

    asyncio.run(life())
    died = json.loads(capfd.readouterr().err.splitlines()[0])
    assert died["event"] == "process_died" and died["model"] == "reports" and died["reason"] == "SIGKILL"


def test_a_version_that_dies_again_and_again_is_not_started_again_at_once(folder):
    async def life():
        served = version(folder)
        await served.load()
        for _ in range(MAX_RESTARTS):
            process = await served._process
            os.kill(process._process.pid, signal.SIGKILL)
            await process.ended
            assert served.state is VersionState.AVAILABLE
        process = await served._process
        os.kill(process._process.pid, signal.SIGKILL)
        with pytest.raises(Failure) as failure:
            await label(served, LONG)
        assert failure.value.code is StatusCode.UNAVAILABLE
        assert served.state is VersionState.END and "dies again and again: SIGKILL" in served.error.message

    asyncio.run(life())


class Loops(tf.Module):
    """A model that never answers an empty text."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")], autograph=False)
    def answer(self, text):
        is_empty = tf.reduce_any(tf.equal(text, ""))
        (turns,) = tf.while_loop(lambda turns: (turns < 1) | is_empty, lambda turns: [turns + 1], [tf.constant(0)])
        with tf.control_dependencies([turns]):
            return {"label": tf.identity(text)}


def stop(served, process):
    os.kill(process._process.pid, signal.SIGSTOP)
    return served.run("serving_default", {"text": strings([b"x"])}, (), asyncio.get_running_loop().time() + 0.1)


def loop_for_ever(served, process):
    return served.run("serving_default", {"text": strings([b""])}, (), asyncio.get_running_loop().time() + 0.1)


@pytest.mark.parametrize("hang", [stop, loop_for_ever])
def test_a_process_that_hangs_is_replaced_and_the_version_says_that_it_does_not_answer(hang, tmp_path, capfd):
    module = Loops()
    tf.saved_model.save(module, str(tmp_path / "1"), signatures=module.answer)

    async def life():
        served = version(tmp_path / "1", timeout_seconds=1.0)
        await served.load()
        first = await served._process
        with pytest.raises(Failure) as failure:
            await hang(served, first)
        assert failure.value.code is StatusCode.DEADLINE_EXCEEDED and not first.ended.done()
        assert await asyncio.wait_for(asyncio.shield(first.ended), 60) == "SIGKILL, as it had not answered for 2 s"
        await asyncio.sleep(0)
        assert not served.is_answering and served.state is VersionState.AVAILABLE
        assert await label(served, SHORT) == "x" and served.is_answering
        await served.unload()

    asyncio.run(life())
    assert '"event": "process_died"' in capfd.readouterr().err


def test_a_call_that_waits_longer_may_compute_longer(tmp_path):
    module = Loops()
    tf.saved_model.save(module, str(tmp_path / "1"), signatures=module.answer)

    async def life():
        served = version(tmp_path / "1", timeout_seconds=0.1)
        await served.load()
        process, now = await served._process, asyncio.get_running_loop().time
        os.kill(process._process.pid, signal.SIGSTOP)
        asyncio.get_running_loop().call_later(0.5, os.kill, process._process.pid, signal.SIGCONT)
        answer = await served.run("serving_default", SHORT, ("label",), now() + 30)
        assert answer["label"].tolist() == [b"x"] and not process.ended.done()
        await served.unload()

    asyncio.run(life())


def test_a_process_that_hangs_while_it_writes_texts_is_replaced(authored):
    async def life():
        (folder,) = authored.glob("*/*/saved_model.pb")
        served = version(folder.parent, timeout_seconds=4.0)
        await served.load()
        first = await served._process
        for is_stopped in (False, True):
            pieces = served.write(Request(prompts=("x",), max_tokens=20, ignore_eos=True))
            await anext(pieces)
            if is_stopped:
                os.kill(first._process.pid, signal.SIGSTOP)
            await pieces.aclose()
            if not is_stopped:  # it confirms that the request is cancelled
                async with asyncio.timeout(3.9):
                    while first._cancelled:
                        await asyncio.sleep(0.01)
        reason = await asyncio.wait_for(asyncio.shield(first.ended), 60)
        assert reason == "SIGKILL, as it had not cancelled a request for 4 s"
        assert [piece async for piece in served.write(Request(prompts=("x",), max_tokens=2))]
        await served.unload()

    asyncio.run(life())


def test_what_a_version_may_do_more_than_compute_is_a_setting(tmp_path):
    module = tf.Module()
    names = [tf.TensorSpec([None], tf.string, name="text")]
    reads = tf.function(
        lambda text: {"label": tf.map_fn(tf.io.read_file, text)}, input_signature=names, autograph=False
    )
    tf.saved_model.save(module, str(tmp_path / "1"), signatures=reads)
    (tmp_path / "file").write_text("content")

    async def life():
        with pytest.raises(Failure, match="needs the operation ReadFile, which reads files") as failure:
            await version(tmp_path / "1").load()
        assert failure.value.code is StatusCode.FAILED_PRECONDITION
        served = version(tmp_path / "1", allow_operations=["ReadFile"])
        await served.load()
        assert await label(served, {"text": strings([str(tmp_path / "file").encode()])}) == "content"
        await served.unload()

    asyncio.run(life())


def test_a_process_that_cannot_be_started_is_a_failure_like_others(folder):
    """The process cannot start, here for lack of file descriptors."""

    async def life():
        served = version(folder)
        await served.load()
        await served.unload()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            with pytest.raises(Failure) as failure:
                await version(folder).load()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert failure.value.code is StatusCode.RESOURCE_EXHAUSTED
        assert "Too many open files" in failure.value.message

    asyncio.run(life())


def damage_the_graph(folder):
    (folder / "saved_model.pb").write_bytes(b"\xff\xff")


def lose_the_variables(folder):
    shutil.rmtree(folder / "assets")
    (folder / "saved_model.pb").unlink()


def change_a_file_of_the_manifest(folder):
    files.write_manifest(folder)
    (folder / "assets/labels.txt").write_text("Leaks\n")


def damage_the_warm_up(folder):
    (folder / "assets.extra/tf_serving_warmup_requests").write_bytes(b"not a TFRecord, and long enough to be read")


def warm_up(folder, values, times=1):
    log = PredictionLog()
    log.predict_log.request.inputs["text"].CopyFrom(to_proto(values))
    with tf.io.TFRecordWriter(str(folder / "assets.extra/tf_serving_warmup_requests")) as writer:
        for _ in range(times):
            writer.write(log.SerializeToString())


def warm_up_with_what_fails(folder):
    warm_up(folder, np.float32([1]))


def test_the_progress_of_a_warm_up_is_logged(folder, capfd):
    warm_up(folder, strings([b"x"]), times=3)

    async def life():
        served = version(folder)
        await served.load()
        assert served.progress == "warming up: 3 of 3 requests answered"
        await served.unload()

    asyncio.run(life())
    (line,) = map(json.loads, capfd.readouterr().err.splitlines())
    assert (line["event"], line["answered"], line["total"]) == ("version_warming_up", 0, 3)


@pytest.mark.parametrize(
    "damage",
    [
        damage_the_graph,
        lose_the_variables,
        change_a_file_of_the_manifest,
        damage_the_warm_up,
        warm_up_with_what_fails,
    ],
)
def test_a_damaged_version_is_never_available(damage, folder):
    damage(folder)

    async def life():
        served = version(folder)
        with pytest.raises(Failure) as failure:
            await served.load()
        assert served.state is VersionState.END and served.error is failure.value
        assert failure.value.message

    asyncio.run(life())


def test_a_load_that_is_given_up_leaves_no_process(folder):
    async def life():
        served = version(folder)
        loading = asyncio.create_task(served.load())
        await asyncio.sleep(0.05)
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert served.state is VersionState.END

    asyncio.run(life())
    wait_until(lambda: not multiprocessing.active_children())


def test_a_load_that_takes_too_long_fails(folder):
    async def life():
        served = version(folder, load_seconds=0.05)
        with pytest.raises(Failure, match="not loaded and warm within 0.05 s"):
            await served.load()
        assert served.state is VersionState.END

    asyncio.run(life())
    wait_until(lambda: not multiprocessing.active_children())
