"""A SavedModel that appears under its version only when it is complete and predicts as the trained model did."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.saved_model import fingerprinting_utils
from tensorflow.python.saved_model.loader_impl import parse_saved_model

from tfattn import console, files
from tfattn.errors import DataError, ExportError
from tfattn.export import card, parity, serving_config, warmup
from tfattn.export.section import Export
from tfattn.export.served import Served
from tfattn.formats.training_file import TrainingFile
from tfattn.graphs import operations


class VersionManifest(files.Manifest):
    """What the manifest of a version says beside its files: the model's name, and what it is made of."""

    model: str
    made_of: str


def export(
    served: Served,
    *,
    name: str,
    section: Export,
    rows: Sequence[Mapping[str, str]],
    expected: Mapping[str, np.ndarray],
    config: str,
    trained_on: TrainingFile | None = None,
    metrics: Mapping[str, float] | None = None,
    measured_on: str = "",
    made_of: str = "",
) -> Path:
    """Write `<folder>/<name>/<version>/` as TF Serving wants it, checked before it appears.

        saved_model.pb, variables/, assets/   the names of labels, and what the preprocessing has learned
        assets.extra/   tf_serving_warmup_requests   what a server answers before the version counts as available
                        parity.json                  how it compares with the trained model
                        operations.txt               every operation it consists of
                        config.yaml, source.json     the pipeline that made it; how the file that trained it was read
                        card.json                    what a person wants to know who tries it
                        weights.json                 the names of its tensors, for models that start from it
        manifest.json   size and SHA-256 of each file

    A version is written to a temporary folder, checked there and renamed: a server never sees half of one, and after
    any failure nothing has changed. Only then are versions beyond `keep` deleted and models.config is written anew.

    Args:
        served: the signatures, which own the tasks and the preprocessing.
        name: the model's name, a folder name.
        section: the `export:` section.
        rows: raw validation rows, such as {"text": ..., "row": "reports.csv:12"}; other keys are not read. They are
            also the examples for the warm-up.
        expected: what the trained model predicted for them, in float32, N values by name.
        config: the resolved configuration, as YAML.
        trained_on: how the source file was read, so that files like it can be read.
        metrics: what the evaluation measured, by the names of metrics.json.
        measured_on: the split that was measured.
        made_of: says what weights and settings it is made of; `exported` finds it by that.

    Returns:
        the version's folder.

    Raises:
        ExportError: the version stands already, or the predictions differ.
        SavedModelError: an operation is refused.

    Example:
        >>> served = TextClassifier(TrainedEnsemble([(preprocessor, task)]))
        >>> export(served, name="reports", section=Export(), rows=rows, expected=predictions, config=text)
        PosixPath('saved_models/reports/1753869876')
    """
    if not rows:
        raise ExportError("there is no validation row to hold the export against", remedy="Set data.split.validation.")
    assert all(len(values) == len(rows) for values in expected.values())
    folder = Path(section.folder)
    with files.lock(folder / name):
        target = folder / name / str(section.next_version(name))
        with files.atomic_folder(target, model=name, made_of=made_of) as temporary:
            _save(served, temporary)
            extra = temporary / "assets.extra"
            extra.mkdir()
            (extra / "operations.txt").write_text("\n".join(_operations(temporary)) + "\n")
            (extra / "config.yaml").write_text(config, encoding="utf-8")
            files.write_json(extra / "weights.json", {"model": served.model_name, "weights": [*served.weight_names]})
            trained_on = trained_on or TrainingFile({name: name for name in served.inputs})
            trained_on.write(extra / "source.json")
            columns = trained_on.columns
            card.write(temporary, served, rows=rows, columns=columns, metrics=metrics or {}, measured_on=measured_on)
            warmup.write(temporary, served, served.warm_up(rows), name=name)
            report = _check(served, temporary, section, rows, expected)
            files.write_json(extra / "parity.json", report)
        _finish(target, section)
    return target


def exported(name: str, section: Export, made_of: str) -> Path | None:
    """Find the newest version of a model that is made of this, None where there is none; damaged ones do not count."""
    for version in reversed(files.numbered(Path(section.folder) / name).values()):
        try:
            if files.read_manifest(version, VersionManifest)["made_of"] == made_of:
                files.verify(version)
                return version
        except DataError as error:
            console.note(f"passed over a damaged export: {error.where}: {error.what}")
    return None


def finish(version: Path, section: Export) -> None:
    """Do what an export does once its version has appeared: remove old ones and write models.config."""
    with files.lock(version.parent):
        _finish(version, section)


def _finish(target: Path, section: Export) -> None:
    for version in list(files.numbered(target.parent).values())[: -section.keep]:
        if version != target:
            files.remove_folder(version)
    serving_config.write(target.parent.parent, served_from=section.served_from)
    console.note(f"exported {target}")


def _save(served: Served, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        served.save_assets(Path(scratch))
        served.assets = [tf.saved_model.Asset(str(path)) for path in sorted(Path(scratch).rglob("*")) if path.is_file()]
        # Nobody trains an export further: gradients of its own functions would double the time.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(served, str(folder), signatures=served.signatures(), options=options)
        del served.assets
    _name_methods(folder, served.methods)


def _name_methods(folder: Path, methods: Mapping[str, str]) -> None:
    """TensorFlow names every signature's method "predict"; TF Serving answers Classify only where it is "classify"."""
    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for signature, method in methods.items():
        saved.meta_graphs[0].signature_def[signature].method_name = method
    saved.meta_graphs[0].meta_info_def.meta_graph_version = files.PRODUCER
    path.write_bytes(saved.SerializeToString(deterministic=True))
    fingerprinting_utils.write_fingerprint(str(folder))


def _operations(folder: Path) -> list[str]:
    """List the names of all that it consists of."""
    (meta_graph,) = parse_saved_model(str(folder)).meta_graphs
    return operations.check(meta_graph, remedy="Use operations of TensorFlow and tensorflow-text that only compute.")


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
