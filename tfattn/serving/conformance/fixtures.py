"""The fixture models: small SavedModels of TensorFlow's own operations, and the models.config that serves them.

half_plus_two   versions 1, 2 and 3, all served, 2 with the label `stable`
types           versions 00000007, which is served, and 8, and a folder that is not a version
slow            versions 1, 2, 3 and another 3; the latest two are served
on_disk         versions 1 and 2, the latest is served; checks change this model
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef, TensorInfo
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig

from tfattn import files
from tfattn.serving.api.signature import CLASSIFY, DEFAULT, PREDICT, REGRESS

v1 = tf.compat.v1
Signatures = dict[str, SignatureDef]
Build = Callable[[int], Signatures]  # adds a model of this version to the default graph

# Types of the signatures that return their input, by the name of the signature.
ECHOED = {
    type_.name: type_ for type_ in (tf.float32, tf.float64, tf.int8, tf.uint8, tf.int32, tf.int64, tf.uint64, tf.bool)
}


def half_plus_two(version: int) -> Signatures:
    """Compute x / 2 + 2, for tensors and for tf.Examples (there plus their `offset`, 0 by default)."""
    x = v1.placeholder(tf.float32, [None], "x")
    examples = v1.placeholder(tf.string, [None], "examples")
    features = tf.io.parse_example(
        examples,
        {
            "x": tf.io.FixedLenFeature([1], tf.float32),
            "offset": tf.io.FixedLenFeature([1], tf.float32, default_value=[0.0]),
        },
    )
    score = _half_plus_two(features["x"]) + features["offset"]
    y = tf.identity(_half_plus_two(x), "y")
    label = tf.where(score > 10.0, tf.fill(tf.shape(score), "large"), tf.fill(tf.shape(score), "small"))
    numbers = tf.fill(tf.shape(x), tf.constant(version, tf.int64))
    return {
        DEFAULT: _signature(PREDICT, {"x": x}, {"y": y}),
        "version": _signature(PREDICT, {"x": x}, {"version": numbers}),
        "classify": _signature(CLASSIFY, {"inputs": examples}, {"scores": score}),
        "classify_labels": _signature(CLASSIFY, {"inputs": examples}, {"classes": label, "scores": score}),
        "regress": _signature(REGRESS, {"inputs": examples}, {"outputs": score}),
    }


def counted(version: int) -> Signatures:
    """Compute half plus two, and `count`, the number of times that `count` has been computed, this one included."""
    signatures = half_plus_two(version)
    x = v1.placeholder(tf.float32, [None], "counted_x")
    count = v1.get_variable("count", [], tf.int64, initializer=v1.zeros_initializer(), use_resource=True)
    counts = tf.fill(tf.shape(x), count.assign_add(1, read_value=True))
    return signatures | {"count": _signature(PREDICT, {"x": x}, {"count": counts})}


def slow(version: int) -> Signatures:
    """Return x after as many milliseconds as the largest of x, in which a core is kept busy."""
    del version
    x = v1.placeholder(tf.float32, [None], "x")
    end = tf.timestamp() + tf.cast(tf.reduce_max(x), tf.float64) / 1000.0
    passed = tf.while_loop(lambda now: now < end, lambda _: tf.timestamp(), [tf.timestamp()])
    with tf.control_dependencies(tf.nest.flatten(passed)):
        y = tf.identity(x, "y")
    return {DEFAULT: _signature(PREDICT, {"x": x}, {"y": y})}


def types(version: int) -> Signatures:
    """Make a signature for each type and shape to be checked."""
    del version
    signatures = {name: _echo(name, type_) for name, type_ in ECHOED.items()}
    a, b = (v1.placeholder(tf.float32, [None], name) for name in "ab")
    text = v1.placeholder(tf.string, [None], "text")
    x = v1.placeholder(tf.float32, [None], "x")
    half = v1.placeholder(tf.float16, [None], "half")
    wide = v1.placeholder(tf.float32, [None, None], "wide")
    two = {"sum": tf.add(a, b), "difference": tf.subtract(a, b)}
    predict = {
        DEFAULT: ({"a": a, "b": b}, two),
        "strings": ({"text": text}, {"y": tf.identity(text), "y_bytes": tf.identity(text)}),
        "from_half": ({"x": half}, {"y": tf.cast(half, tf.float32)}),
        "to_half": ({"x": x}, {"y": tf.cast(x, tf.float16)}),
        "scalar": ({"x": x}, {"y": tf.reduce_sum(x)}),
        "unequal": ({"x": x}, {"a": tf.identity(x), "b": x[:1]}),
        "no_rows": ({"x": x}, {"y": x[:0]}),
        "wide": ({"x": wide}, {"y": tf.reduce_sum(wide, axis=1)}),
    }
    return signatures | {name: _signature(PREDICT, *sides) for name, sides in predict.items()}


def _half_plus_two(x: tf.Tensor) -> tf.Tensor:
    return x * 0.5 + 2.0


def _echo(name: str, type_: tf.DType) -> SignatureDef:
    x = v1.placeholder(type_, [None], f"{name}_x")
    return _signature(PREDICT, {"x": x}, {"y": tf.identity(x)})


def _signature(method: str, inputs: Mapping[str, tf.Tensor], outputs: Mapping[str, tf.Tensor]) -> SignatureDef:
    signature = SignatureDef(method_name=method)
    for places, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for name, tensor in tensors.items():
            type_, shape = tensor.dtype.as_datatype_enum, tensor.shape.as_proto()
            places[name].CopyFrom(TensorInfo(name=tensor.name, dtype=type_, tensor_shape=shape))
    return signature


WARM_UP = Path("assets.extra") / "tf_serving_warmup_requests"
VERSIONS: dict[str, tuple[Build, tuple[str, ...]]] = {
    "half_plus_two": (half_plus_two, ("1", "2", "3")),
    "types": (types, ("00000007", "8", "newest")),
    "slow": (slow, ("1", "2", "3", "003")),
    "on_disk": (counted, ("1", "2")),
}


def write_models(folder: Path) -> None:
    """Write the fixture models and their models.config into a folder of their own; keep existing versions."""
    folder = Path(folder).resolve()
    for model, (build, versions) in VERSIONS.items():
        for name in versions:
            if not (folder / model / name).is_dir():
                write_version(folder / model, name, build)
    files.write_text(folder / "models.config", text_format.MessageToString(_config(folder)))


def write_version(folder: Path, name: str, build: Build, *, warm_up: PredictRequest | None = None) -> None:
    """Write a version of a model atomically.

    Args:
        folder: the model's folder.
        name: the name of the version's folder, usually its number.
        build: adds the graph.
        warm_up: a warm-up request.
    """
    folder.mkdir(parents=True, exist_ok=True)
    hidden = Path(tempfile.mkdtemp(dir=folder, prefix=f".{name}."))
    try:
        _save(hidden / "new", build, int(name) if name.isdigit() else 0)
        if warm_up is not None:
            (hidden / "new" / WARM_UP).parent.mkdir()
            log = PredictionLog()
            log.predict_log.request.CopyFrom(warm_up)
            with tf.io.TFRecordWriter(str(hidden / "new" / WARM_UP)) as writer:
                writer.write(log.SerializeToString())
        os.rename(hidden / "new", folder / name)
    finally:
        shutil.rmtree(hidden)


def write_corrupt_version(folder: Path, name: str) -> None:
    """Write the folder of a version that cannot be loaded."""
    hidden = Path(tempfile.mkdtemp(dir=folder, prefix=f".{name}."))
    (hidden / "saved_model.pb").write_bytes(b"not a model")
    os.rename(hidden, folder / name)


def model_config(folder: Path, name: str) -> ModelConfig:
    """Return a model's entry in models.config, which serves the latest version."""
    return ModelConfig(name=name, base_path=str(folder / name), model_platform="tensorflow")


def _config(folder: Path) -> ModelServerConfig:
    config = ModelServerConfig()
    entries = {name: model_config(folder, name) for name in VERSIONS}
    entries["half_plus_two"].model_version_policy.all.SetInParent()
    entries["half_plus_two"].version_labels["stable"] = 2
    entries["types"].model_version_policy.specific.versions.append(7)
    entries["slow"].model_version_policy.latest.num_versions = 2
    config.model_config_list.config.extend(entries.values())
    return config


def _save(folder: Path, build: Build, version: int) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        builder = tf.compat.v1.saved_model.Builder(str(folder))
        signatures = build(version)
        session.run(tf.compat.v1.global_variables_initializer())
        builder.add_meta_graph_and_variables(session, ["serve"], signatures, strip_default_attrs=True)
        builder.save()
