"""A SavedModel that appears under its version only when it is complete and answers as the trained model did."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.saved_model import fingerprinting_utils

from tfattn import console, files
from tfattn.data.training_file import TrainingFile
from tfattn.errors import ExportError
from tfattn.export import parity, serving_config, warmup
from tfattn.export.operations import operations
from tfattn.export.section import Export
from tfattn.export.served import Served


def export(
    served: Served,
    *,
    name: str,
    section: Export,
    rows: Sequence[Mapping[str, str]],
    expected: Mapping[str, np.ndarray],
    config: str,
    trained_on: TrainingFile | None = None,
) -> Path:
    """Writes `<folder>/<name>/<version>/` as TF Serving wants it, checked before it appears.

        saved_model.pb, variables/, assets/   the names of labels, and what the preprocessing has learned
        assets.extra/   tf_serving_warmup_requests   what a server answers before the version counts as available
                        parity.json                  how it compares with the trained model
                        operations.txt               every operation it consists of
                        config.yaml, source.json     the pipeline that made it; how the file that trained it was read
        manifest.json   size and SHA-256 of each file

    A version is written to a temporary folder, checked there and renamed: a server never sees half of one, and after
    any failure nothing has changed. Only then are versions beyond `keep` deleted and models.config is written anew.

    Args:
        served: the signatures, which own the tasks and the preprocessing.
        name: the model's name, a folder name.
        section: the `export:` section.
        rows: raw validation rows, such as {"text": ..., "row": "reports.csv:12"}; other keys are not read. They are
            also the examples for the warm-up.
        expected: what the trained model answered for them, in float32, N values by name.
        config: the resolved configuration, as YAML.
        trained_on: how the source file was read, so that files like it can be answered.

    Returns:
        the version's folder.

    Raises:
        ExportError: the version stands already, an operation is refused, or the answers differ.

    Example:
        >>> served = TextClassifier(members=[(preprocessor, task)], labels=labels)
        >>> export(served, name="reports", section=Export(), rows=rows, expected=answers, config=text)
        PosixPath('saved_models/reports/1753869876')
    """
    if not rows:
        raise ExportError("there is no validation row to hold the export against", remedy="Set data.split.validation.")
    assert all(len(values) == len(rows) for values in expected.values())
    folder = Path(section.folder)
    with files.lock(folder / name):
        _remove_leftovers(folder / name)
        target = folder / name / str(section.next_version(name))
        with files.atomic_folder(target, model=name) as temporary:
            _save(served, temporary)
            extra = temporary / "assets.extra"
            extra.mkdir()
            (extra / "operations.txt").write_text("\n".join(operations(temporary)) + "\n")
            (extra / "config.yaml").write_text(config, encoding="utf-8")
            (trained_on or TrainingFile({name: name for name in served.inputs})).write(extra / "source.json")
            warmup.write(temporary, served, served.warm_up(rows), name=name)
            report = _check(served, temporary, section, rows, expected)
            files.write_json(extra / "parity.json", report)
        for version in list(files.numbered(folder / name).values())[: -section.keep]:
            if version != target:
                files.remove_folder(version)
        serving_config.write(folder, served_from=section.served_from)
    console.note(f"exported {target}")
    return target


def _save(served: Served, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        served.save_assets(Path(scratch))
        served.assets = [tf.saved_model.Asset(str(path)) for path in sorted(Path(scratch).rglob("*")) if path.is_file()]
        tf.saved_model.save(served, str(folder), signatures=served.signatures())
        del served.assets
    _name_methods(folder, served.methods)


def _name_methods(folder: Path, methods: Mapping[str, str]) -> None:
    """TensorFlow names every signature's method "predict"; TF Serving answers Classify only where it is "classify"."""
    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for signature, method in methods.items():
        saved.meta_graphs[0].signature_def[signature].method_name = method
    path.write_bytes(saved.SerializeToString(deterministic=True))
    fingerprinting_utils.write_fingerprint(str(folder))


def _check(
    served: Served,
    folder: Path,
    section: Export,
    rows: Sequence[Mapping[str, str]],
    expected: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    chosen = np.linspace(0, len(rows) - 1, min(section.parity_rows, len(rows))).astype(int)
    return parity.check(
        served,
        folder,
        rows=[rows[index] for index in chosen],
        expected={name: np.asarray(values)[chosen] for name, values in expected.items()},
        tolerance=section.tolerance,
    )


def _remove_leftovers(folder: Path) -> None:
    """What a killed export left behind; the lock says that no other is at work here."""
    for path in folder.glob(".[0-9]*.*"):
        shutil.rmtree(path, ignore_errors=True)
