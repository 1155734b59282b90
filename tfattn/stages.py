"""The stages of a pipeline: prepare, train, evaluate and export."""

import dataclasses
import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from tfattn import console, files, pretrained, registry
from tfattn.checks import check, check_prepared
from tfattn.config.build import build
from tfattn.config.checksum import checksummed
from tfattn.config.resolve import Overrides, resolve
from tfattn.config.schema import ADAPTER, EMBEDDINGS
from tfattn.config.show import to_yaml
from tfattn.data.preparation.input_statistics import STATISTICS, InputStatistics
from tfattn.data.preparation.prepare import prepare as prepare_data
from tfattn.data.preparation.summary import SUMMARY, read_summary
from tfattn.data.reader import Reader
from tfattn.data.records import PREPARE_AGAIN, write_encoded
from tfattn.data.split_config import TRAIN, VALIDATION
from tfattn.errors import DataError
from tfattn.evaluation.baseline import compare
from tfattn.evaluation.drift import prediction_histograms
from tfattn.evaluation.evaluate import OUTPUTS, WARNINGS
from tfattn.evaluation.evaluate import write as write_evaluation
from tfattn.evaluation.explained_errors import explained_errors
from tfattn.evaluation.section import Evaluation
from tfattn.export.litert_gate import Metrics
from tfattn.export.saved_model import export as write_export
from tfattn.export.saved_model import find_export, finish
from tfattn.export.servable_model import ServableModel
from tfattn.features import ID
from tfattn.formats.columns import as_columns
from tfattn.formats.source import Source
from tfattn.formats.training_file import TrainingFile
from tfattn.layers.adapters import adapters
from tfattn.pretrained.packages import pin_vectors
from tfattn.runs import identity
from tfattn.runs.data import build_data
from tfattn.runs.identity import compute_fingerprints
from tfattn.runs.member import Member
from tfattn.runs.moved_weights import note_moved_weights
from tfattn.runs.run import Run
from tfattn.runs.teacher import distillation
from tfattn.sharing import trained_adapter
from tfattn.tasks.task import Task
from tfattn.trained.calibration import calibrate, calibration_split
from tfattn.trained.ensemble import CALIBRATOR, OPERATING_POINT, TrainedEnsemble, load
from tfattn.trained.predictions import evaluation_split, predict_for_parity, predict_split
from tfattn.training.checkpoints import Checkpoints
from tfattn.training.environment import ENVIRONMENT, environment_of
from tfattn.training.memory import report_out_of_memory
from tfattn.training.outcome import outcome_warnings
from tfattn.training.prediction import encode, precompute
from tfattn.training.runtime import Runtime
from tfattn.training.seeding import seeded
from tfattn.training.workers import start_workers
from tfattn.vectors.token_embeddings import initialize_embeddings

Stage = Literal["prepare", "train", "evaluate", "export"]
STAGES: tuple[Stage, ...] = get_args(Stage)  # each stage needs all earlier stages


def open_run(pipeline: str | Path | Mapping[str, Any], overrides: Overrides | None) -> Run:
    """Resolve and check a pipeline, start the runtime and return the run; see `resolve`."""
    config = resolve(pipeline, overrides)
    # Before any computation: TensorFlow can configure devices and connect to workers only then.
    runtime: Runtime = build(config, "runtime").start()
    data = check(config)
    pin_vectors(config.values["model"].get(EMBEDDINGS))
    run = Run(config, fingerprints=compute_fingerprints(config, data), runtime=runtime)
    note_moved_weights(run)
    return run


def run(run: Run, stage: Stage | None = None, *, force: bool = False, workers: int = 1) -> None:
    """Run a stage and all stages that it needs. Stages whose inputs have not changed are skipped.

    Args:
        run: the run.
        stage: the last stage; None runs all stages.
        force: whether to run `stage`, or all stages, even if nothing has changed.
        workers: the number of local training processes.
    """
    with run.tracking.until_end():
        _run(run, stage, force=force, workers=workers)


def _run(run: Run, stage: Stage | None, *, force: bool, workers: int) -> None:
    needed = STAGES[: STAGES.index(stage) + 1] if stage else STAGES
    forced = {name: force and stage in (None, name) for name in STAGES}
    trains = "train" in needed and (forced["train"] or not _is_trained(run))
    if prepare(run, force=forced["prepare"]) or trains:
        check_prepared(run.members)
    if trains and stage in ("evaluate", "export"):
        extent = f"{run.members[0].trainer.length}, models: {len(run.members)}"
        console.note(f"{stage} needs trained weights: training first ({extent}); Ctrl-C stops it, nothing is lost")
    if "train" in needed:
        train(run, force=forced["train"], workers=workers)
    ensemble = functools.cache(lambda: load(run))
    if "evaluate" in needed and run.runtime.is_chief:
        evaluate(run, ensemble, force=forced["evaluate"])
    if "export" in needed and run.runtime.is_chief:
        export(run, ensemble, force=forced["export"])


def prepare(run: Run, *, force: bool = False) -> bool:
    """Prepare records from raw rows: check, split and encode; return whether any data had to be prepared."""
    prepared = False
    for member in run.datasets:
        with member.preparation(force=force) as needed:
            if needed:
                make = functools.partial(build_data, member.config)
                prepare_data(make(), member.prepared, member.seed, make=make, identity=member.prepared.name)
                prepared = True
    return prepared


def train(run: Run, *, force: bool = False, workers: int = 1) -> None:
    """Train each model, from its last checkpoint if there is one."""
    if force:
        for member in run.members:
            member.stage_log.forget("train", "checkpoints")
    if workers > 1 and not _is_trained(run):
        _train_in_workers(run, workers)
        return
    for member in run.members:
        _train(run, member)


def evaluate(run: Run, ensemble: Callable[[], TrainedEnsemble], *, force: bool = False) -> None:
    """Measure the best weights, in float32 as the export has them: metrics, plots and a report."""
    inputs = identity.evaluation_inputs(run.config, _weights(run))
    outputs = (OPERATING_POINT, CALIBRATOR, *OUTPUTS)
    with run.stage_log.stage("evaluate", force=force, inputs=inputs, outputs=outputs) as needed:
        if needed:
            calibrate(run, ensemble())
            predicted = predict_split(run, ensemble(), evaluation_split(run))
            report = registry.find("report", run.config.values["task"]["name"])(ensemble(), predicted)
            explained = explained_errors(ensemble(), predicted)
            report = dataclasses.replace(report, sections=[*report.sections, *explained])
            section: Evaluation = build(run.config, "evaluation")
            baseline = compare(run, predicted) if section.baseline else None
            write_evaluation(
                report,
                run,
                split=predicted.split,
                chosen=_chosen(run, ensemble()),
                baseline=baseline,
                outcome=_outcome(run, ensemble()),
            )


def export(run: Run, ensemble: Callable[[], TrainedEnsemble], *, force: bool = False) -> None:
    """Export the best weights as a SavedModel, and check its predictions."""
    section = build(run.config, "export")
    inputs = identity.export_inputs(run.config, _weights(run))
    made_of = run.stage_log.digest(inputs)
    version = None if force else find_export(run.name, section, made_of)
    with run.stage_log.stage("export", force=version is None, inputs=inputs) as needed:
        if needed and version is not None:  # an export was killed after its version was written
            finish(version, section)
        elif needed:
            served = registry.find("served", run.config.values["task"]["name"])(ensemble())
            rows, expected = predict_for_parity(run, ensemble(), served)
            version = write_export(
                served,
                name=run.name,
                section=section,
                rows=rows,
                expected=expected,
                config=checksummed(to_yaml(run.config)),
                trained_on=_trained_on(run, served),
                origins=run.fingerprints.origins,
                statistics=_statistics(run, ensemble()),
                metrics=files.read_json(run.folder / "metrics.json", dict[str, int | float]),
                measured_on=evaluation_split(run),
                warnings=_warnings(run),
                data=_data(run),
                made_of=made_of,
                measure=_measure(run, ensemble()) if "litert" in section.formats and served.predicts_rows else None,
            )
    run.export = version


def _measure(run: Run, ensemble: TrainedEnsemble) -> Metrics | None:
    """Return a function that measures predictions of the rows of the evaluation; None without predictions of rows."""
    split = evaluation_split(run)
    if not ensemble.task.predicts_rows or (split == VALIDATION and len(run.datasets) > 1):
        return None
    report = registry.find("report", run.config.values["task"]["name"])
    predicted = predict_split(run, ensemble, split)
    return lambda values: report(ensemble, dataclasses.replace(predicted, values=values, members=())).metrics


def _train(run: Run, member: Member) -> None:
    runtime = run.runtime
    outputs = ("history.jsonl", ENVIRONMENT, "checkpoints/*/*", f"{ADAPTER}/*", "precomputed/*")
    facts = {"outputs": outputs, "prepared": member.prepared.name}
    with member.stage_log.stage("train", **facts) as needed, report_out_of_memory():
        if not needed:
            return
        task, train, validation = training_parts(member, runtime)
        trained_on = environment_of(runtime, task)
        if runtime.is_chief:
            console.note(str(trained_on))
            files.write_json(member.folder / ENVIRONMENT, dataclasses.asdict(trained_on))
        if (waste := train.waste(0)) > 0:
            console.note(f"padding: {waste:.1%} of all tokens in the first epoch")
        member.trainer.train(
            task,
            train,
            validation,
            folder=member.folder,
            runtime=runtime,
            seed=member.training_seed,
            fingerprint=member.id,
            on_validation=functools.partial(run.tracking.log_history, member),
        )
        if runtime.is_chief and adapters(task.model):
            trained_adapter.write(member, task)


def training_parts(member: Member, runtime: Runtime) -> tuple[Task, Reader, Reader]:
    """Build the task with its initial weights, and the readers of training and validation rows."""
    with seeded(member.training_seed), runtime.scope():
        preprocessor = member.preprocessor()
        task = member.task(preprocessor)
        for path, source in member.config.published.items():
            model = functools.reduce(getattr, path[1:], task.model)
            optional = task.optional_layers if model is task.model else [model.pooler]
            pretrained.open(source).load_into(model, [*optional, *adapters(model).values()]).show()
        trained_adapter.load(member, task, preprocessor)
        if (embeddings := member.config.values["model"].get(EMBEDDINGS)) is not None:
            initialize_embeddings(task.model, preprocessor, embeddings["from"]).show()
        task = distillation(member, task, preprocessor)
    records = _encoded(member, task, runtime) if task.encoder_is_frozen else member.prepared
    if task.precomputed:
        _precompute(member, task, runtime)
    train, validation = (member.reader(split, folder=records) for split in (TRAIN, VALIDATION))
    return task, train, validation


def _is_trained(run: Run) -> bool:
    return all(member.stage_log.is_done("train") for member in run.members)


def _weights(run: Run) -> list[str]:
    """Return the fingerprint of the best weights of each model."""
    return [Checkpoints(member.folder / "checkpoints").best().fingerprint for member in run.members]


def _chosen(run: Run, ensemble: TrainedEnsemble) -> list[str]:
    """List the choices that were made on the validation rows."""
    chosen = {
        "which epoch to keep": run.config.at("training", "selection") == "best_epoch",
        "the operating point": ensemble.operating_point is not None and calibration_split(run) == VALIDATION,
    }
    return [name for name, is_chosen in chosen.items() if is_chosen]


def _outcome(run: Run, ensemble: TrainedEnsemble) -> list[str]:
    """Warn of models that diverged, or that were still improving at the end of their training."""
    warnings = {}
    for member in run.members:
        history = files.read_json_lines(member.folder / "history.jsonl", dict[str, int | float])
        monitor, mode = member.trainer.monitored(ensemble.task)
        for warning in outcome_warnings(history, member.trainer, monitor=monitor, mode=mode):
            warnings.setdefault(warning.partition(":")[0], warning)  # once for all members
    return list(warnings.values())


def _trained_on(run: Run, served: ServableModel) -> TrainingFile:
    """Record how the source file was read, so that the export can predict for others like it."""
    source: Source = build(run.config, "data", "source")
    given = run.config.values["data"]["source"].get("fields", {})
    targets = build(run.config, "data", "targets")
    return TrainingFile(
        columns={name: as_columns(given.get(field, name)) for name, field in served.raw_fields.items()},
        missing=served.missing,
        suffix=source.path.suffix.lower(),
        format=source.format,
        id=None if ID not in given else str(given[ID]),
        targets={role: as_columns(given[role]) for role in targets.roles if role in given},
    )


def _warnings(run: Run) -> list[str]:
    """Read the warnings of the report; none of a report that was written without the file."""
    path = run.folder / WARNINGS
    return files.read_json(path, list[str]) if path.is_file() else []


def _data(run: Run) -> dict[str, Any]:
    """Describe the data of the first model: the rows of each split, and the path and SHA-256 of each source."""
    path, member = run.members[0].prepared / SUMMARY, run.members[0]
    sources = {}
    for key, digest in run.fingerprints.data.items():
        section = member.config.values["data"].get(key)
        if isinstance(section, dict):  # other keys are files of the preprocessing and plugins
            sources[key] = {"path": str(section.get("path", "")), "sha256": digest}
    return {"rows": read_summary(member.prepared)["rows"] if path.is_file() else {}, "sources": sources}


def _statistics(run: Run, ensemble: TrainedEnsemble) -> InputStatistics | None:
    """Return the statistics of the training rows of the first model, and of the predictions of the evaluated rows.

    None if the data were prepared without them.
    """
    path = run.members[0].prepared / STATISTICS
    if not path.exists():
        return None
    statistics = InputStatistics.read(path, remedy=PREPARE_AGAIN)
    if not ensemble.task.predicts_rows:
        return statistics
    predicted = predict_split(run, ensemble, evaluation_split(run))
    return dataclasses.replace(statistics, predictions=prediction_histograms(predicted.values, ensemble.labels))


def _train_in_workers(run: Run, workers: int) -> None:
    plugins = [word for plugin in registry.PLUGINS for word in ("--plugin", plugin)]
    command = [sys.executable, "-m", "tfattn", "train", str(run.stage_log.write_config()), *plugins]
    status = start_workers(workers, command)
    if status:
        sys.exit(status)


def _encoded(member: Member, task: Task, runtime: Runtime) -> Path:
    """Compute the vectors of a frozen encoder once, and save them in the member's folder."""
    folder = member.folder / "encoded"
    if not _is_intact(folder):
        splits = {}
        for split in (TRAIN, VALIDATION):
            encoded, targets = encode(task, member.reader(split), runtime)
            splits[split] = {"encoded": encoded, **targets}
        if runtime.is_chief:
            features = member.facts["features"]
            targets = {name: feature for name, feature in features.items() if feature.role == "target"}
            write_encoded(folder, splits, targets=targets)
        runtime.agree(0)  # workers wait until the chief has written
    return folder


def _precompute(member: Member, task: Task, runtime: Runtime) -> None:
    """Compute the targets that do not change in training once, and save them in the member's folder."""
    folder = member.precomputed
    if not _is_intact(folder):
        readers = {split: member.reader(split, with_precomputed=False) for split in member.facts["splits"]}
        columns = {split: precompute(task, reader, runtime) for split, reader in readers.items()}
        if runtime.is_chief:
            with files.atomic_folder(folder) as new:
                for split, found in columns.items():
                    for name, values in found.items():
                        np.save(new / f"{split}.{name}.npy", values)
        runtime.agree(0)  # workers wait until the chief has written


def _is_intact(folder: Path) -> bool:
    if folder.exists():
        try:
            files.verify(folder)
            return True
        except DataError as error:
            console.note(f"computed again, because of damage: {error.where}: {error.what}")
    return False
