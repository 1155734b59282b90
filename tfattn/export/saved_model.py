"""Writing, checking and publishing versions of a SavedModel."""

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
from tfattn.data.preparation.input_statistics import STATISTICS, InputStatistics
from tfattn.errors import DataError, ExportError
from tfattn.export import card, litert_files, parity, serving_config, warmup
from tfattn.export.litert_gate import Metrics
from tfattn.export.network_split import split_all
from tfattn.export.section import Export
from tfattn.export.servable_model import ServableModel
from tfattn.formats.training_file import TrainingFile
from tfattn.graphs import operations
from tfattn.trained import model_card


class VersionManifest(files.Manifest):
    """The manifest of a version: the model's name, and the identity of its weights and settings in `made_of`."""

    model: str
    made_of: str


def export(
    served: ServableModel,
    *,
    name: str,
    section: Export,
    rows: Sequence[Mapping[str, str]],
    expected: Mapping[str, np.ndarray],
    config: str,
    trained_on: TrainingFile | None = None,
    origins: Mapping[str, Mapping[str, Any]] | None = None,
    statistics: InputStatistics | None = None,
    metrics: Mapping[str, float] | None = None,
    measured_on: str = "",
    warnings: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
    made_of: str = "",
    measure: Metrics | None = None,
) -> Path:
    """Write `<folder>/<name>/<version>/` for TF Serving, verified before it becomes visible.

        saved_model.pb, variables/, assets/   the graph, its weights, and the files of the preprocessing and labels
        assets.extra/   tf_serving_warmup_requests   warm-up requests of the server
                        parity.json                  the comparison with the trained model
                        litert/*.tflite              LiteRT files, see `litert_files.write`
                        operations.txt               all operations of the graph
                        config.yaml, source.json     the configuration of the pipeline; how the source file was read
                        card.json                    inputs, outputs, examples, metrics and data
                        statistics.json              the inputs and targets of the training rows
                        weights.json                 the names of the weights, for models initialized from them
        README.md       the model card, in the format of the Hugging Face hub
        manifest.json   size and SHA-256 of each file

    A version is written to a temporary folder, verified there, and renamed, so that servers never see a partial version
    and failures change nothing. Afterwards, versions beyond `keep` are deleted and models.config is rewritten.

    Args:
        served: the model to export.
        name: the model's name, a folder name.
        section: the `export:` section.
        rows: raw validation rows, such as {"text": ..., "row": "reports.csv:12"}, for the comparison and the warm-up;
            other keys are ignored.
        expected: float32 predictions of the trained model for the rows, N values by name.
        config: the resolved configuration, as YAML.
        trained_on: how the source file was read, so that similar files can be read.
        origins: the source of the pretrained weights of the model, by key; see `Pretrained.origin`.
        statistics: of the training rows, so that new rows can be compared with them.
        metrics: results of the evaluation, by the names of metrics.json.
        measured_on: the evaluated split.
        warnings: the warnings of the report.
        data: the rows of each split, and the sources; see `card`.
        made_of: the identity of the weights and settings; `find_export` searches for it.
        measure: returns the metrics of predictions of the rows, for the gate of LiteRT files.

    Returns:
        the version's folder.

    Raises:
        ExportError: the version exists, or the predictions differ.
        SavedModelError: the graph has a forbidden operation.

    Example:
        >>> served = TextClassifier(TrainedEnsemble([(preprocessor, task)]))
        >>> export(served, name="reports", section=Export(), rows=rows, expected=predictions, config=text)
        PosixPath('saved_models/reports/1753869876')
    """
    if not rows:
        raise ExportError("there is no validation row to compare the export on", remedy="Set data.split.validation.")
    assert all(len(values) == len(rows) for values in expected.values())
    folder = Path(section.folder)
    with files.lock(folder / name):
        target = folder / name / str(section.next_version(name))
        with files.atomic_folder(target, model=name, made_of=made_of) as temporary:
            has_litert = "litert" in section.formats
            parts = split_all(served) if has_litert and not served.writes_own_litert else []
            with console.step(f"saving {name}"):
                _save(served, temporary, {name: half for part in parts for name, half in part.signatures.items()})
            extra = temporary / "assets.extra"
            extra.mkdir()
            (extra / "operations.txt").write_text("\n".join(_operations(temporary)) + "\n")
            (extra / "config.yaml").write_text(config, encoding="utf-8")
            files.write_json(extra / "weights.json", {"model": served.model_name, "weights": [*served.weight_names]})
            trained_on = trained_on or TrainingFile({name: name for name in served.inputs})
            trained_on.write(extra / "source.json")
            if statistics is not None:
                statistics.write(extra / STATISTICS)
            litert = {}
            if parts:
                options = {"name": name, "section": section, "rows": rows, "expected": expected, "metrics": measure}
                litert = litert_files.write(served, parts, temporary, **options)
            elif has_litert:
                litert = served.write_litert(temporary, rows, precision=section.litert_precision)
            card.write(
                temporary,
                served,
                rows=rows,
                columns=trained_on.columns,
                metrics=metrics or {},
                measured_on=measured_on,
                warnings=warnings,
                data=data,
                origins=origins,
                litert=litert,
            )
            warmup.write(temporary, served, served.warm_up(rows), name=name)
            with console.step("checking the export in a fresh process"):
                report = _check(served, temporary, section, rows, expected)
            files.write_json(extra / "parity.json", {**report, **({"litert": litert} if litert else {})})
            files.write_text(temporary / model_card.CARD, model_card.text(temporary))
        _finish(target, section)
    return target


def find_export(name: str, section: Export, made_of: str) -> Path | None:
    """Return the newest intact version with this identity, or None."""
    for version in reversed(files.numbered(Path(section.folder) / name).values()):
        try:
            if files.read_manifest(version, VersionManifest)["made_of"] == made_of:
                files.verify(version)
                return version
        except DataError as error:
            console.note(f"skipped a damaged export: {error.where}: {error.what}")
    return None


def finish(version: Path, section: Export) -> None:
    """Remove old versions and write models.config, the last steps of an export."""
    with files.lock(version.parent):
        _finish(version, section)


def _finish(target: Path, section: Export) -> None:
    for version in list(files.numbered(target.parent).values())[: -section.keep]:
        if version != target:
            files.remove_folder(version)
    serving_config.write(target.parent.parent, served_from=section.served_from)
    console.note(f"exported {target}")


def _save(served: ServableModel, folder: Path, additional: Mapping[str, Any] | None = None) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        served.save_assets(Path(scratch))
        served.assets = [tf.saved_model.Asset(str(path)) for path in sorted(Path(scratch).rglob("*")) if path.is_file()]
        # Exports are not trained further; saving gradients of functions doubles the time.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(
            served, str(folder), signatures=served.signatures() | dict(additional or {}), options=options
        )
        del served.assets
    _name_methods(folder, served.methods)


def _name_methods(folder: Path, methods: Mapping[str, str]) -> None:
    """Set the methods of signatures: TensorFlow always writes "predict", but TF Serving's Classify needs "classify"."""
    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for signature, method in methods.items():
        saved.meta_graphs[0].signature_def[signature].method_name = method
    saved.meta_graphs[0].meta_info_def.meta_graph_version = files.PRODUCER
    path.write_bytes(saved.SerializeToString(deterministic=True))
    fingerprinting_utils.write_fingerprint(str(folder))


def _operations(folder: Path) -> list[str]:
    """Return the names of all operations of the graph, or fail for a forbidden operation."""
    (meta_graph,) = parse_saved_model(str(folder)).meta_graphs
    return operations.check(meta_graph, remedy="Use operations of TensorFlow and tensorflow-text that only compute.")


def _check(
    served: ServableModel,
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
