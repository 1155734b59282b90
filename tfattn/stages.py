"""The stages of a pipeline: prepare, train, evaluate and export."""

import dataclasses
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from tfattn import console, files, pretrained, registry
from tfattn.checks import check, check_prepared
from tfattn.config.build import build
from tfattn.config.checksum import checksummed
from tfattn.config.resolve import resolve
from tfattn.config.schema import EMBEDDINGS
from tfattn.config.show import to_yaml
from tfattn.data.prepare import prepare as prepare_data
from tfattn.data.records import write_encoded
from tfattn.data.split_config import TRAIN, VALIDATION
from tfattn.errors import DataError
from tfattn.evaluation.evaluate import OUTPUTS
from tfattn.evaluation.evaluate import write as write_evaluation
from tfattn.export.saved_model import export as write_export
from tfattn.export.saved_model import find_export, finish
from tfattn.export.servable_model import ServableModel
from tfattn.formats.columns import as_columns
from tfattn.formats.source import Source
from tfattn.formats.training_file import TrainingFile
from tfattn.runs import identity
from tfattn.runs.data import build_data
from tfattn.runs.identity import compute_fingerprints
from tfattn.runs.member import Member
from tfattn.runs.run import Run
from tfattn.tasks.task import Task
from tfattn.trained.ensemble import OPERATING_POINT, TrainedEnsemble, load
from tfattn.trained.predictions import choose_operating_point, evaluation_split, predict_for_parity, predict_split
from tfattn.training.checkpoints import Checkpoints
from tfattn.training.environment import ENVIRONMENT, environment_of
from tfattn.training.memory import report_out_of_memory
from tfattn.training.prediction import encode
from tfattn.training.runtime import Runtime
from tfattn.training.seeding import seeded
from tfattn.training.workers import start_workers
from tfattn.vectors.token_embeddings import initialize_embeddings

Stage = Literal["prepare", "train", "evaluate", "export"]
STAGES: tuple[Stage, ...] = get_args(Stage)  # each stage needs all earlier stages


def open_run(pipeline: Path, overrides: list[str] | None) -> Run:
    """Resolve and check a pipeline file, start the runtime and return the run."""
    config = resolve(pipeline, overrides)
    # Before any computation: TensorFlow can configure devices and connect to workers only then.
    runtime: Runtime = build(config, "runtime").start()
    return Run(config, fingerprints=compute_fingerprints(config, check(config)), runtime=runtime)


def run(run: Run, stage: Stage | None = None, *, force: bool = False, workers: int = 1) -> None:
    """Run a stage and all stages that it needs. Stages whose inputs have not changed are skipped.

    Args:
        run: the run.
        stage: the last stage; None runs all stages.
        force: whether to run `stage`, or all stages, even if nothing has changed.
        workers: the number of local training processes.
    """
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
        _train(member, run.runtime)


def evaluate(run: Run, ensemble: Callable[[], TrainedEnsemble], *, force: bool = False) -> None:
    """Measure the best weights, in float32 as the export has them: metrics, plots and a report."""
    inputs = identity.evaluation_inputs(run.config, _weights(run))
    with run.stage_log.stage("evaluate", force=force, inputs=inputs, outputs=(OPERATING_POINT, *OUTPUTS)) as needed:
        if needed:
            choose_operating_point(run, ensemble())
            predicted = predict_split(run, ensemble(), evaluation_split(run))
            report = registry.find("report", run.config.values["task"]["name"])
            chosen = _chosen(run, ensemble())
            write_evaluation(report(ensemble(), predicted), run, split=predicted.split, chosen=chosen)


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
            write_export(
                served,
                name=run.name,
                section=section,
                rows=rows,
                expected=expected,
                config=checksummed(to_yaml(run.config)),
                trained_on=_trained_on(run, served),
                metrics=files.read_json(run.folder / "metrics.json", dict[str, int | float]),
                measured_on=evaluation_split(run),
                made_of=made_of,
            )


def _train(member: Member, runtime: Runtime) -> None:
    outputs = ("history.jsonl", ENVIRONMENT, "checkpoints/*/*")
    with member.stage_log.stage("train", outputs=outputs) as needed, report_out_of_memory():
        if not needed:
            return
        with seeded(member.training_seed), runtime.scope():
            preprocessor = member.preprocessor()
            task = member.task(preprocessor)
            for path, source in member.config.published.items():
                model = functools.reduce(getattr, path[1:], task.model)
                optional = task.optional_layers if model is task.model else [model.pooler]
                pretrained.open(source).load_into(model, optional).show()
            if (embeddings := member.config.values["model"].get(EMBEDDINGS)) is not None:
                initialize_embeddings(task.model, preprocessor, embeddings["from"]).show()
        records = _encoded(member, task, runtime) if task.encoder_is_frozen else member.prepared
        train, validation = (member.reader(split, folder=records) for split in (TRAIN, VALIDATION))
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
        )


def _is_trained(run: Run) -> bool:
    return all(member.stage_log.is_done("train") for member in run.members)


def _weights(run: Run) -> list[str]:
    """Return the fingerprint of the best weights of each model."""
    return [Checkpoints(member.folder / "checkpoints").best().fingerprint for member in run.members]


def _chosen(run: Run, ensemble: TrainedEnsemble) -> list[str]:
    """List the choices that were made on the validation rows."""
    chosen = {
        "which epoch to keep": run.config.at("training", "selection") == "best_epoch",
        "the operating point": ensemble.operating_point is not None,
    }
    return [name for name, is_chosen in chosen.items() if is_chosen]


def _trained_on(run: Run, served: ServableModel) -> TrainingFile:
    """Record how the source file was read, so that the export can predict for others like it."""
    source: Source = build(run.config, "data", "source")
    given = run.config.values["data"]["source"].get("fields", {})
    return TrainingFile(
        columns={name: as_columns(given.get(field, name)) for name, field in served.raw_fields.items()},
        missing=served.missing,
        suffix=source.path.suffix.lower(),
        format=source.format,
    )


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


def _is_intact(folder: Path) -> bool:
    if folder.exists():
        try:
            files.verify(folder)
            return True
        except DataError as error:
            console.note(f"computed again, because of damage: {error.where}: {error.what}")
    return False
