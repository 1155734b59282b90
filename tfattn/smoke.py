"""A smoke test of a pipeline: every stage on a few rows with a tiny model, up to an answer of a server."""

import contextlib
import json
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tfattn import console, registry, stages
from tfattn.config.resolve import resolve
from tfattn.config.schema import Config
from tfattn.errors import ServingError
from tfattn.export import warmup
from tfattn.runs.run import Run
from tfattn.serving.api.tensors import from_proto
from tfattn.serving.client.client import Client

ROWS, STEPS, MODELS = 400, 2, 2  # with fewer rows, columns of rare categories would be constant
# The largest sizes of a model without pretrained weights.
TINY = {
    "hidden_dim": 32,
    "embedding_dim": 32,
    "intermediate_dim": 64,
    "num_layers": 2,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "num_key_value_heads": 2,
}
VOCABULARY = 1000
COVERAGE = 0.5  # a higher coverage needs more calibration rows
SHOWN = 300  # characters of the answer
LENGTH = (f"training.steps={STEPS}", "training.epochs=null", "training.min_steps=null")
WAIT_SECONDS = 120.0  # for a request, on a busy machine


def smoke(pipeline: Path, overrides: list[str] | None) -> None:
    """Run all stages of a pipeline on a few rows with a tiny model, serve the export, and print an answer.

    All files are written into a temporary folder. Pretrained weights keep their sizes.

    Args:
        pipeline: the pipeline file.
        overrides: strings `key.path=value`, which have priority over the settings of the smoke test, except its length.

    Raises:
        TfattnError: a stage fails, or the server does not answer.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tfattn-smoke-") as folder:
        settings = _overrides(resolve(pipeline, overrides), Path(folder))
        run = stages.open_run(pipeline, [*settings, *(overrides or ()), *LENGTH])
        stages.run(run)
        if registry.kind(run.config.values["task"]["name"]).served:
            answer = json.dumps(_served_answer(run, Path(folder)), ensure_ascii=False)
            console.note(f"served answer: {textwrap.shorten(answer, SHOWN, placeholder=' ...')}")
    console.note(f"smoke test passed in {time.monotonic() - started:.0f} s: {pipeline}")


def _overrides(config: Config, folder: Path) -> Iterator[str]:
    """Yield the settings of the smoke test for a pipeline."""
    yield f"runs_folder={folder}/runs"
    yield f"export.folder={folder}/exports"
    yield f"data.max_rows={ROWS}"
    yield "training.validate_every=null"
    yield "training.early_stopping=null"
    for kind, count in (config.values["ensemble"] or {}).items():
        if count is not None and count > MODELS:
            yield f"ensemble.{kind}={MODELS}"
    if (config.values["calibration"] or {}).get("coverage"):
        yield f"calibration.coverage={COVERAGE}"
    size = config.at("data", "preprocessing").get("vocabulary_size")
    if size is not None and size > VOCABULARY:
        yield f"data.preprocessing.vocabulary_size={VOCABULARY}"
    if not config.published:
        yield from (f"model.{key}={size}" for key, size in TINY.items() if (config.at("model").get(key) or 0) > size)


def _served_answer(run: Run, folder: Path) -> dict[str, Any]:
    """Serve the export, and ask for the prediction of the first row of its warm-up requests."""
    models = folder / "exports" / run.name
    with _server(models) as addresses, Client(addresses["rest"], timeout=WAIT_SECONDS) as client:
        (answer,) = client.predict(run.name, [_warm_up_row(models)])
    return answer


def _warm_up_row(models: Path) -> dict[str, Any]:
    (warm_up,) = models.glob(f"[0-9]*/{warmup.FILE}")
    record = next(tf.data.TFRecordDataset(str(warm_up)).as_numpy_iterator())
    inputs = PredictionLog.FromString(record).predict_log.request.inputs
    return {name: from_proto(name, tensor)[0] for name, tensor in inputs.items()}


@contextlib.contextmanager
def _server(models: Path) -> Iterator[dict[str, str]]:
    """Start the built-in server on free ports, and yield its addresses."""
    settings = ("--set", "rest_port=0", "--set", "grpc_port=0")
    command = [sys.executable, "-m", "tfattn", "serve", str(models), "--engine", "builtin", *settings]
    log = models.parent / "server.log"
    with (
        open(log, "w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            line = process.stdout.readline()
            if not line:
                raise ServingError("the server does not start", where=str(models), received=log.read_text()[-2000:])
            yield json.loads(line)
        finally:
            process.terminate()
