"""The stages of a pipeline, each a few lines of glue: what to read, what to build, what to call, what to keep.

A stage first calls the one before it, which says that it is done or does its work.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

from tfattn import catalog, console, files, pretrained
from tfattn.config.build import build, located
from tfattn.config.resolve import resolve
from tfattn.config.schema import Config
from tfattn.config.show import to_yaml
from tfattn.data.prepare import prepare as prepare_data
from tfattn.data.records import write_encoded
from tfattn.data.section import Data
from tfattn.data.source import Source
from tfattn.data.split import TRAIN, VALIDATION
from tfattn.data.training_file import TrainingFile
from tfattn.errors import ConfigError, ServingError
from tfattn.evaluation.alignment_plot import alignment
from tfattn.evaluation.evaluate import Evaluated
from tfattn.evaluation.figures import FORMATS, drawn
from tfattn.export.saved_model import export as write_export
from tfattn.export.served import Served
from tfattn.export.translation import ALIGNMENT
from tfattn.features import LABEL, TEXT
from tfattn.runs import Run
from tfattn.serving import engine
from tfattn.tasks.task import Task
from tfattn.trained import Trained, facts_of, reader_of, task_of
from tfattn.training.checkpoints import Checkpoints
from tfattn.training.prediction import encode
from tfattn.training.runtime import Runtime
from tfattn.training.workers import start_workers


def check(config: Config) -> Config:
    """Finds all that can be known to be wrong before data are read."""
    for section in ("training", "export"):
        build(config, section)
    data: Data = build(config, "data")
    task = config.values["task"]["name"]
    kind = catalog.find("tasks", task)
    if kind.learns_labels:
        with located(config, "data"):
            data.check_roles(LABEL)
    preprocessor = data.preprocessing
    if task in catalog.names("signatures"):  # a task of one's own may be one to train only
        catalog.find("signatures", task).check_fields(preprocessor.fields)
    # True sizes are known from the data; any will do to check the others.
    stated = config.values["model"]
    model = build(config, "model", **{name: stated.get(name, size) for name, size in preprocessor.sizes.items()})
    if preprocessor.max_length and preprocessor.max_length > model.max_sequence_length:
        raise ConfigError(
            "texts may be longer than the model takes",
            where=f"{config.origins['data', 'preprocessing', 'max_length']}: data.preprocessing.max_length",
            expected=f"at most model.max_sequence_length={model.max_sequence_length}",
            received=str(preprocessor.max_length),
        )
    if config.at("training", "seeds") > 1 and not kind.answers_together:
        raise ConfigError(
            f"several models of the task {task} cannot answer as one",
            where=f"{config.origins['training', 'seeds']}: training.seeds",
            expected="1",
            received=str(config.at("training", "seeds")),
            remedy="Train each with a `seed` and a `name` of its own.",
        )
    if config.at("training", "folds") and not preprocessor.reads_columns:
        raise ConfigError(
            "texts are not divided into folds",
            where=f"{config.origins['training', 'folds']}: training.folds",
            expected="a table",
            remedy="Set training.seeds, or data.split.folds and data.split.fold for one fold.",
        )
    return config


def open_run(pipeline: Path, overrides: list[str] | None) -> Run:
    """Resolves and checks a pipeline file, takes the devices and finds the folders of the run."""
    config = resolve(pipeline, overrides)
    # First of all: devices can only be divided, and other processes be met, before TensorFlow computes anything.
    runtime: Runtime = build(config, "runtime").start(config.values["seed"])
    data = _data(check(config))
    read = {path.name: files.sha256(path) for path in data.preprocessing.files if path.is_file()}
    return Run(config, inputs={**data.fingerprints(), **read}, runtime=runtime)


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
                prepare_data(_data(member.config), member.prepared, member.seed)


def train(run: Run, *, force: bool = False, workers: int = 1) -> None:
    """Records to the best weights, from the last checkpoint where there is one."""
    prepare(run)
    if force and not _helps():
        for member in run.members:
            member.forget("train", "checkpoints")
    if workers > 1 and not all(member.is_done("train") for member in run.members):
        _train_in_workers(run, workers)
        return
    for member in run.members:
        _train(member)


def evaluate(run: Run, *, force: bool = False, workers: int = 1) -> None:
    """The best weights to metrics, plots and a report, computed in float32 as the export will."""
    train(run, workers=workers)
    with run.stage("evaluate", force=force, inputs=_best(run)) as needed:
        if needed:
            trained = Trained(run)
            decisions = trained.settle()
            answers, targets, loss, rows = trained.answers(trained.split)
            report = catalog.find("reports", run.config.values["task"]["name"])
            evaluated = Evaluated(
                name=run.name,
                split=trained.split,
                prepared=trained.runs[0].prepared,
                configuration=to_yaml(run.config),
                rows=rows,
                answers=answers,
                targets=targets,
                loss=loss,
                task=trained.tasks[0],
                decisions=decisions,
                columns=trained.fields,
                preprocessor=trained.preprocessors[0],
                asks=trained.asks(),
            )
            report(run.folder, evaluated)


def export(run: Run, *, force: bool = False) -> None:
    """The best weights to a SavedModel that answers as they do."""
    evaluate(run)
    record = run.folder / "export.json"
    gone = not (record.is_file() and Path(files.read_json(record)["folder"]).is_dir())
    inputs = [_best(run), run.config.values["export"]]
    with run.stage("export", force=force or gone, inputs=inputs) as needed:
        if needed:
            trained = Trained(run)
            trained.settle()
            served = trained.served()
            answers, rows = trained.expected()
            folder = write_export(
                served,
                name=run.name,
                section=build(run.config, "export"),
                rows=rows,
                expected=answers,
                config=to_yaml(run.config),
                trained_on=_trained_on(run, served),
            )
            files.write_json(record, {"folder": str(folder)})


def attention(model: str, text: str, output: Path, *, folder: Path) -> None:
    """Draws what an exported translator looks at as it writes."""
    kind = files.by_suffix(output, FORMATS)
    loaded = engine.load(model, folder)
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
        path.write_bytes(drawn(alignment(np.array(weights), source, written), kind))
    console.note(f"attention: {output}")


def _train(run: Run) -> None:
    with run.stage("train", helps=_helps()) as needed:
        if not needed:
            return
        with run.runtime.scope():
            task = task_of(run)
            source = run.config.values["model"].get("pretrained")
            if source is not None:
                pretrained.open(source).load_into(task.model).show()
        records = _encoded(run, task, run.runtime) if task.encoder_is_frozen else run.prepared
        train, validation = (reader_of(run, split, folder=records) for split in (TRAIN, VALIDATION))
        if (waste := train.waste(0)) > 0:
            console.note(f"padding: {waste:.1%} of all tokens in the first epoch")
        build(run.config, "training").train(
            task, train, validation, folder=run.folder, runtime=run.runtime, seed=run.training_seed, fingerprint=run.id
        )


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


def _best(run: Run) -> list[str]:
    return [Checkpoints(member.folder / "checkpoints").best().fingerprint for member in run.members]


def _encoded(run: Run, task: Task, runtime: Runtime) -> Path:
    """What the frozen encoder makes of every row, computed once and kept with the run."""
    folder = run.folder / "encoded"
    if not folder.exists():
        splits = {}
        for split in (TRAIN, VALIDATION):
            encoded, targets = encode(task, reader_of(run, split), runtime)
            splits[split] = {"encoded": encoded, **targets}
        if runtime.is_chief:
            write_encoded(folder, splits, labels=facts_of(run)["labels"])
        runtime.agree(0)  # nobody reads before the chief has written
    return folder
