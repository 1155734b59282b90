"""The fixture models: small SavedModels of TensorFlow's own operations, and the models.config that serves them.

half_plus_two   versions 1, 2 and 3, all served, 2 under the label `stable`
types           versions 00000007 and 8, of which 7 is asked for, and a folder that is no version
slow            versions 1, 2, 3 and once more 3, of which the latest two are asked for
on_disk         versions 1 and 2, the latest served; the checks of versions on disk change it
"""

import os
import shutil
import tempfile
from pathlib import Path

import tensorflow as tf
from google.protobuf import text_format
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig

from tfattn import files
from tfattn.serving.conformance import graphs
from tfattn.serving.conformance.graphs import Build

WARM_UP = Path("assets.extra") / "tf_serving_warmup_requests"
VERSIONS: dict[str, tuple[Build, tuple[str, ...]]] = {
    "half_plus_two": (graphs.half_plus_two, ("1", "2", "3")),
    "types": (graphs.types, ("00000007", "8", "newest")),
    "slow": (graphs.slow, ("1", "2", "3", "003")),
    "on_disk": (graphs.counted, ("1", "2")),
}


def write_models(folder: Path) -> None:
    """Write the fixture models and their models.config into a folder, which should hold nothing else.

    A version that stands there already is kept: servers may be reading it.
    """
    folder = Path(folder).resolve()
    for model, (build, versions) in VERSIONS.items():
        for name in versions:
            if not (folder / model / name).is_dir():
                write_version(folder / model, name, build)
    files.write_text(folder / "models.config", text_format.MessageToString(_config(folder)))


def write_version(folder: Path, name: str, build: Build, *, warm_up: PredictRequest | None = None) -> None:
    """Write a version of a model; it appears whole.

    Args:
        folder: the model's folder.
        name: the version's folder in it, its number as a rule.
        build: what adds its graph.
        warm_up: a request to be answered before it counts as available.
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
    """Write a folder in the place of a version that is not one."""
    hidden = Path(tempfile.mkdtemp(dir=folder, prefix=f".{name}."))
    (hidden / "saved_model.pb").write_bytes(b"not a model")
    os.rename(hidden, folder / name)


def model_config(folder: Path, name: str) -> ModelConfig:
    """Make a model's entry in models.config; its latest version is served."""
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
