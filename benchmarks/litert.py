"""A MiniLM classifier computed by TensorFlow, LiteRT and onnxruntime: the latency of small requests.

The weights are random: the time does not depend on them. The accuracy of int8 weights is measured by each export.
onnxruntime is measured if it is installed with onnx and tf2onnx; its int8 weights are those of its own quantizer
(quantize_dynamic, a scale for each channel).
"""

import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from benchmarks.results import Table
from benchmarks.timing import medians
from tfattn.litert.converter import convert
from tfattn.litert.model import LiteRtModel
from tfattn.litert.quantizer import quantize
from tfattn.models.bert import Bert
from tfattn.tasks.classification import Classification

SIZES = {"hidden_dim": 384, "num_layers": 6, "num_heads": 12, "intermediate_dim": 1536}
VOCABULARY = 30522
REQUESTS = ((1, 16), (8, 16), (8, 128))  # texts, tokens of each
INPUTS = ("token_ids", "padding_mask", "segment_ids")
ROUNDS = 31


def main() -> Iterator[Table]:
    """Measure each request with both engines."""
    keras.config.set_dtype_policy("float32")
    with tempfile.TemporaryDirectory() as folder:
        engines = {**tensorflow_engines(), **litert_engines(Path(folder)), **onnx_engines(Path(folder))}
        rows = []
        for texts, tokens in REQUESTS:
            ids = np.random.default_rng(0).integers(1000, VOCABULARY, (texts, tokens)).astype(np.int32)
            batch = {"token_ids": ids, "padding_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
            calls = {name: lambda run=run, batch=batch: run(batch) for name, run in engines.items()}
            seconds = medians(calls, rounds=ROUNDS)
            best = min(seconds["TensorFlow float32"], seconds["TensorFlow bfloat16"])
            for name, value in seconds.items():
                rows.append([f"{texts} x {tokens}", name, f"{1000 * value:.2f}", f"{best / value:.2f}"])
        sizes = {path.name: path.stat().st_size / 1e6 for path in Path(folder).glob("*.*")}
    yield Table(
        title="MiniLM classifier, small requests",
        columns=["texts x tokens", "engine", "ms", "speed-up"],
        rows=rows,
        notes=(
            f"Medians of {ROUNDS} rounds in turn. Speed-up: relative to the faster precision of TensorFlow.",
            f"Files: {', '.join(f'{name} {size:.1f} MB' for name, size in sorted(sizes.items()))}.",
        ),
    )


def classifier() -> Classification:
    """Return a classifier of two labels."""
    keras.utils.set_random_seed(1)
    targets = {"labels": ["no", "yes"], "counts": [1, 1]}
    return Classification(model=Bert(vocabulary_size=VOCABULARY, **SIZES), targets=targets)


def logits(task: Classification):
    """Return the logits as a function of the inputs."""
    specs = [tf.TensorSpec([None, None], tf.int32, name=name) for name in INPUTS]

    def compute(token_ids, padding_mask, segment_ids):
        features = {"token_ids": token_ids, "padding_mask": padding_mask > 0, "segment_ids": segment_ids}
        return {"logits": task(features)["logits"]}

    return tf.function(compute, input_signature=specs, autograph=False)


def tensorflow_engines():
    engines = {}
    for name, policy in (("float32", "float32"), ("bfloat16", "mixed_bfloat16")):
        keras.config.set_dtype_policy(policy)
        function = logits(classifier())
        engines[f"TensorFlow {name}"] = lambda batch, function=function: function(*(batch[x] for x in INPUTS))[
            "logits"
        ].numpy()
    keras.config.set_dtype_policy("float32")
    return engines


def litert_engines(folder: Path):
    task = classifier()
    content = convert({"serving_default": logits(task)}, weights=[variable.value for variable in task.weights])
    engines = {}
    for precision, data in (("float32", content), ("int8", quantize(content))):
        path = folder / f"{precision}.tflite"
        path.write_bytes(data)
        for threads in (1, 2):
            model = LiteRtModel(path, num_threads=threads)
            engines[f"LiteRT {precision}, {threads} thread{'s' * (threads > 1)}"] = lambda batch, model=model: (
                model.run("serving_default", batch)
            )
    return engines


def onnx_engines(folder: Path):
    if None in [importlib.util.find_spec(name) for name in ("onnx", "onnxruntime", "tf2onnx")]:
        return {}
    import onnx
    import onnxruntime
    import tf2onnx
    from onnxruntime.quantization import quantize_dynamic

    specs = [tf.TensorSpec([None, None], tf.int32, name=name) for name in INPUTS]
    model, _ = tf2onnx.convert.from_function(logits(classifier()), input_signature=specs, opset=17)
    paths = {precision: folder / f"{precision}.onnx" for precision in ("float32", "int8")}
    onnx.save(model, paths["float32"])
    quantize_dynamic(paths["float32"], paths["int8"], per_channel=True)
    engines = {}
    for precision, path in paths.items():
        for threads in (1, 2):
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            name = f"onnxruntime {precision}, {threads} thread{'s' * (threads > 1)}"
            engines[name] = lambda batch, session=session: session.run(None, batch)
    return engines
