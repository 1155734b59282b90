"""The stages of a pipeline, each a few lines of glue: what to read, what to build, what to call, what to keep.

A stage first calls the one before it, which says that it is done or does its work.
"""

import dataclasses
import functools
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import catalog, console, files, pretrained
from tfattn.checks import check, check_prepared
from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.config.schema import Config
from tfattn.config.seal import sealed
from tfattn.config.show import to_yaml
from tfattn.data.prepare import prepare as prepare_data
from tfattn.data.records import write_encoded
from tfattn.data.section import Data
from tfattn.data.source import Source
from tfattn.data.split import TRAIN, VALIDATION
from tfattn.data.training_file import TrainingFile
from tfattn.drawing.figures import FORMATS
from tfattn.errors import ConfigError, DataError, ServingError
from tfattn.evaluation.alignment_plot import alignment
from tfattn.evaluation.evaluate import Evaluated
from tfattn.export.saved_model import export as write_export
from tfattn.export.saved_model import exported, finish
from tfattn.export.served import Served
from tfattn.export.translation import ALIGNMENT
from tfattn.features import TEXT
from tfattn.inputs import code_of, inputs_of
from tfattn.runs import Run
from tfattn.serving.client import local
from tfattn.tasks.task import Task
from tfattn.trained import Trained, facts_of, reader_of, task_of
from tfattn.training.checkpoints import Checkpoints
from tfattn.training.environment import Environment, environment_of
from tfattn.training.memory import telling_out_of_memory
from tfattn.training.prediction import encode
from tfattn.training.runtime import Runtime
from tfattn.training.workers import start_workers

ENVIRONMENT = "environment.json"  # of a trained model


def open_run(pipeline: Path, overrides: list[str] | None) -> Run:
    """Resolves and checks a pipeline file, takes the devices and finds the folders of the run."""
    config = resolve(pipeline, overrides)
    # First of all: devices can only be divided, and other processes be met, before TensorFlow computes anything.
    runtime: Runtime = build(config, "runtime").start(config.values["seed"])
    return Run(config, inputs=inputs_of(config, _data(check(config))), runtime=runtime)


def run(run: Run, *, force: bool = False, workers: int = 1) -> None:
    """All stages."""
    prepare(run, force=force)
    train(run, force=force, workers=workers)
    if _helps():
        return
    evaluate(run, force=force, workers=workers)
    export(run, force=force)


def prepare(run: Run, *, force: bool = False) -> None:
    """Raw rows to checked, divided records."""
    for member in {member.prepared: member for member in run.members}.values():
        with member.preparation(force=force) as needed:
            if needed:
                make = functools.partial(_data, member.config)
                prepare_data(make(), member.prepared, member.seed, make=make, identity=member.prepared.name)
        if needed:
            check_prepared(member)


def train(run: Run, *, force: bool = False, workers: int = 1) -> None:
    """Records to the best weights, from the last checkpoint where there is one."""
    prepare(run)
    if force or not _is_trained(run):
        check_prepared(run)
    if force and not _helps():
        for member in run.members:
            member.forget("train", "checkpoints")
    if workers > 1 and not _is_trained(run):
        _train_in_workers(run, workers)
        return
    for member in run.members:
        _train(member)


def evaluate(run: Run, *, force: bool = False, workers: int = 1) -> None:
    """The best weights to metrics, plots and a report, computed in float32 as the export will."""
    if not _is_trained(run):
        extent = f"{build(run.config, 'training').length}, models: {len(run.members)}"
        console.note(f"evaluate needs trained weights: it trains first ({extent}); Ctrl-C stops it, nothing is lost")
    train(run, workers=workers)
    left = ("metrics.json", "predictions.jsonl", "*.tsv", "report.html", "plots/*")
    with run.stage("evaluate", force=force, inputs=_answering(run, "reports"), leaves=left) as needed:
        if needed:
            trained = Trained(run)
            decisions = trained.settle()
            answered = trained.answers(trained.split)
            report = catalog.find("reports", run.config.values["task"]["name"])
            evaluated = Evaluated(
                name=run.name,
                split=trained.split,
                prepared=trained.runs[0].prepared,
                configuration=to_yaml(run.config),
                rows=answered.rows,
                answers=answered.answers,
                targets=answered.targets,
                loss=answered.loss,
                members=answered.members,
                leaked=trained.leaked(trained.split),
                task=trained.tasks[0],
                decisions=decisions,
                columns=trained.fields,
                preprocessor=trained.preprocessors[0],
                asks=trained.asks(),
                selection=run.config.at("training", "selection"),
                environment=str(files.read_json(trained.runs[0].folder / ENVIRONMENT, Environment)),
            )
            report(run.folder, evaluated)


def export(run: Run, *, force: bool = False) -> None:
    """The best weights to a SavedModel that answers as they do."""
    evaluate(run)
    section = build(run.config, "export")
    inputs = [_answering(run, "signatures"), run.config.values["export"]]
    made_of = files.digest([run.id, inputs])
    version = None if force else exported(run.name, section, made_of)
    with run.stage("export", force=version is None, inputs=inputs) as needed:
        if needed and version is not None:  # an export was killed after its version had appeared
            finish(version, section)
        elif needed:
            trained = Trained(run)
            trained.settle()
            served = trained.served()
            answers, rows = trained.expected()
            write_export(
                served,
                name=run.name,
                section=section,
                rows=rows,
                expected=answers,
                config=sealed(to_yaml(run.config)),
                trained_on=_trained_on(run, served),
                metrics=files.read_json(run.folder / "metrics.json", dict[str, int | float]),
                measured_on=trained.split,
                made_of=made_of,
            )


def attention(model: str, text: str, output: Path, *, folder: Path) -> None:
    """Draws what an exported translator looks at as it writes."""
    as_format = files.by_suffix(output, FORMATS)
    loaded = local.load(model, folder)
    if ALIGNMENT not in loaded.signatures:
        raise ServingError(
            "the model does not tell what it looks at as it writes",
            where=str(loaded.folder),
            expected=f"a translator whose model attends to its source, which has the signature `{ALIGNMENT}`",
            received=f"the signatures {', '.join(loaded.signatures)}",
        )
    found = loaded.outputs([{TEXT: text}], signature=ALIGNMENT)
    weights, source, written = (found[name][0] for name in ("alignment", "source_tokens", "tokens"))
    if not written:
        raise ServingError("nothing is written to this text", where=str(loaded.folder), received=repr(text))
    with files.atomic_file(output) as path:
        path.write_bytes(as_format(alignment(np.array(weights), source, written)))
    console.note(f"attention: {output}")


def _train(run: Run) -> None:
    left = ("history.jsonl", ENVIRONMENT, "checkpoints/*/*")
    with run.stage("train", leaves=left, helps=_helps()) as needed, telling_out_of_memory():
        if not needed:
            return
        with run.runtime.scope():
            task = task_of(run)
            source = run.config.values["model"].get("pretrained")
            if source is not None:
                pretrained.open(source).load_into(task.model).show()
        records = _encoded(run, task, run.runtime) if task.encoder_is_frozen else run.prepared
        train, validation = (reader_of(run, split, folder=records) for split in (TRAIN, VALIDATION))
        trained_on = environment_of(run.runtime, task)
        if run.runtime.is_chief:
            console.note(str(trained_on))
            files.write_json(run.folder / ENVIRONMENT, dataclasses.asdict(trained_on))
        if (waste := train.waste(0)) > 0:
            console.note(f"padding: {waste:.1%} of all tokens in the first epoch")
        build(run.config, "training").train(
            task, train, validation, folder=run.folder, runtime=run.runtime, seed=run.training_seed, fingerprint=run.id
        )


def _is_trained(run: Run) -> bool:
    return all(member.is_done("train") for member in run.members)


def _data(config: Config) -> Data:
    """The data section; what comes with the pretrained weights is found."""
    data: Data = build(config, "data")
    if data.preprocessing.needs_pretrained:
        source = config.values["model"].get("pretrained")
        if source is None:
            raise ConfigError(
                "there is no pretrained model to take the vocabulary from",
                where=f"{config.origins['data', 'preprocessing', 'vocabulary']}: data.preprocessing.vocabulary",
                expected="`pretrained:` in the model section",
                remedy="Set `vocabulary: train`, or name a vocab.txt.",
            )
        folder = pretrained.open(source)
        data.preprocessing.adopt(vocabulary=folder.vocabulary, lower_case=folder.lower_case)
    return data


def _trained_on(run: Run, served: Served) -> TrainingFile:
    """What is kept of the source file, so that the export can answer others like it."""
    source: Source = build(run.config, "data", "source")
    given = run.config.values["data"]["source"].get("fields", {})
    return TrainingFile(
        columns={name: str(given.get(field, name)) for name, field in served.raw_fields.items()},
        missing=served.missing,
        suffix=source.path.suffix.lower(),
        format=source.format,
    )


def _train_in_workers(run: Run, workers: int) -> None:
    plugins = [word for plugin in catalog.PLUGINS for word in ("--plugin", plugin)]
    command = [sys.executable, "-m", "tfattn", "train", str(run.write_config()), *plugins]
    status = start_workers(workers, command)
    if status:
        sys.exit(status)


def _helps() -> bool:
    """Whether TF_CONFIG says that another process is the chief, which alone writes."""
    setting = json.loads(os.environ.get("TF_CONFIG") or "{}")
    task, cluster = setting.get("task", {}), setting.get("cluster", {})
    return task.get("type") == "worker" and (task.get("index", 0) > 0 or "chief" in cluster)


def _answering(run: Run, kind: str) -> list[Any]:
    """What a stage after training depends on: the best weights, and the code of its part in the task."""
    best = [Checkpoints(member.folder / "checkpoints").best().fingerprint for member in run.members]
    return [best, code_of(kind, run.config.values["task"]["name"])]


def _encoded(run: Run, task: Task, runtime: Runtime) -> Path:
    """What the frozen encoder makes of every row, computed once and kept with the run."""
    folder = run.folder / "encoded"
    if not _stands(folder):
        splits = {}
        for split in (TRAIN, VALIDATION):
            encoded, targets = encode(task, reader_of(run, split), runtime)
            splits[split] = {"encoded": encoded, **targets}
        if runtime.is_chief:
            write_encoded(folder, splits, labels=facts_of(run)["labels"])
        runtime.agree(0)  # nobody reads before the chief has written
    return folder


def _stands(folder: Path) -> bool:
    if folder.exists():
        try:
            files.verify(folder)
            return True
        except DataError as error:
            console.note(f"computed again, because of damage: {error.where}: {error.what}")
    return False
