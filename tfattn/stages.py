"""The stages of a pipeline, each a few lines of glue: what to read, what to build, what to call, what to keep.

A stage first calls the one before it, which says that it is done or does its work.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tfattn import catalog, console, files, pretrained
from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.config.schema import Config
from tfattn.config.show import to_yaml
from tfattn.data.prepare import prepare as prepare_data
from tfattn.data.reader import Reader
from tfattn.data.records import write_encoded
from tfattn.data.section import Data
from tfattn.data.split import TEST, TRAIN, VALIDATION
from tfattn.errors import ConfigError
from tfattn.export.saved_model import export as write_export
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.runs import Run
from tfattn.tasks.task import Task
from tfattn.training import checkpoints
from tfattn.training.prediction import encode
from tfattn.training.prediction import predict as predict_split
from tfattn.training.runtime import Runtime
from tfattn.training.workers import start_workers


def check(config: Config) -> Config:
    """Finds all that can be known to be wrong before data are read."""
    for section in ("training", "export"):
        build(config, section)
    tokenizer = build(config, "data").tokenizer
    # Its true size is known from the data; any will do to check the others.
    model = build(config, "model", vocabulary_size=config.values["model"].get("vocabulary_size", 100))
    if tokenizer.max_length > model.max_sequence_length:
        raise ConfigError(
            "texts may be longer than the model takes",
            where=f"{config.origins['data', 'tokenizer', 'max_length']}: data.tokenizer.max_length",
            expected=f"at most model.max_sequence_length={model.max_sequence_length}",
            received=str(tokenizer.max_length),
        )
    return config


def open_run(pipeline: Path, overrides: list[str] | None) -> Run:
    """Resolves and checks a pipeline file, takes the devices and finds the folders of the run."""
    config = resolve(pipeline, overrides)
    # First of all: devices can only be divided, and other processes be met, before TensorFlow computes anything.
    runtime: Runtime = build(config, "runtime").start(config.values["seed"])
    data = _data(check(config))
    vocabulary = Path(data.tokenizer.vocabulary)
    known = {"vocabulary": files.sha256(vocabulary)} if vocabulary.is_file() else {}
    return Run(config, inputs={**data.fingerprints(), **known}, runtime=runtime)


def run(run: Run, *, force: bool = False, workers: int = 1) -> None:
    """All stages."""
    prepare(run, force=force)
    train(run, force=force, workers=workers)
    if _helps():
        return
    evaluate(run, force=force, workers=workers)
    export(run, force=force)


def prepare(run: Run, *, force: bool = False) -> None:
    """Raw rows to checked, split and tokenized records."""
    with run.preparation(force=force) as needed:
        if needed:
            prepare_data(_data(run.config), run.prepared, run.seed)


def train(run: Run, *, force: bool = False, workers: int = 1) -> None:
    """Records to the best weights, from the last checkpoint where there is one."""
    prepare(run)
    if force and not _helps():
        run.forget("train", "checkpoints")
    if workers > 1 and not run.is_done("train"):
        _train_in_workers(run, workers)
        return
    with run.stage("train", helps=_helps()) as needed:
        if not needed:
            return
        with run.runtime.scope():
            task = _task(run, with_pretrained=True)
        records = _encoded(run, task, run.runtime) if task.encoder_is_frozen else run.prepared
        train, validation = (_reader(run, split, folder=records) for split in (TRAIN, VALIDATION))
        console.note(f"padding: {train.waste(0):.1%} of all tokens in the first epoch")
        build(run.config, "training").train(
            task, train, validation, folder=run.folder, runtime=run.runtime, seed=run.seed, fingerprint=run.id
        )


def evaluate(run: Run, *, force: bool = False, workers: int = 1) -> None:
    """The best weights to metrics, plots and a report, computed in float32 as the export will."""
    train(run, workers=workers)
    with run.stage("evaluate", force=force, inputs=_best(run)) as needed:
        if needed:
            task, runtime = _trained(run)
            split = _measured_split(run)
            answers, targets, loss = predict_split(task, _reader(run, split), runtime)
            report = catalog.find("reports", run.config.values["task"]["name"])
            report(
                run.folder,
                name=run.name,
                split=split,
                prepared=run.prepared,
                configuration=to_yaml(run.config),
                rows=_rows(run, split),
                answers=answers,
                targets=targets,
                loss=loss,
            )


def export(run: Run, *, force: bool = False) -> None:
    """The best weights to a SavedModel that answers as they do."""
    evaluate(run)
    record = run.folder / "export.json"
    gone = not (record.is_file() and Path(files.read_json(record)["folder"]).is_dir())
    inputs = [_best(run), run.config.values["export"]]
    with run.stage("export", force=force or gone, inputs=inputs) as needed:
        if needed:
            task, runtime = _trained(run)
            split = _measured_split(run)
            answers, _, _ = predict_split(task, _reader(run, split), runtime)
            tokenizer = _fitted_tokenizer(run)
            signatures = catalog.find("signatures", run.config.values["task"]["name"])
            folder = write_export(
                signatures(task=task, tokenizer=tokenizer, labels=_facts(run)["labels"]),
                name=run.name,
                section=build(run.config, "export"),
                rows=_rows(run, split),
                expected=answers,
                config=to_yaml(run.config),
                columns={field: run.config.at("data", "source", "fields", field) for field in tokenizer.fields},
            )
            files.write_json(record, {"folder": str(folder)})


def _data(config: Config) -> Data:
    """The data section; a vocabulary that comes with the pretrained weights is found."""
    data: Data = build(config, "data")
    if data.tokenizer.vocabulary == "pretrained":
        source = config.values["model"].get("pretrained")
        if source is None:
            raise ConfigError(
                "there is no pretrained model to take the vocabulary from",
                where=f"{config.origins['data', 'tokenizer', 'vocabulary']}: data.tokenizer.vocabulary",
                expected="`pretrained:` in the model section",
                remedy="Set `vocabulary: train`, or name a vocab.txt.",
            )
        folder = pretrained.open(source)
        data.tokenizer.vocabulary = str(folder.vocabulary)
        if data.tokenizer.lower_case is None:
            data.tokenizer.lower_case = folder.lower_case
    return data


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


def _facts(run: Run) -> dict[str, Any]:
    return files.read_manifest(run.prepared)


def _fitted_tokenizer(run: Run) -> Preprocessor:
    tokenizer: Preprocessor = build(run.config, "data", "tokenizer")
    tokenizer.load(run.prepared / "tokenizer")
    return tokenizer


def _task(run: Run, *, with_pretrained: bool) -> Task:
    """The model and the task on it, with all that the data say about their sizes."""
    facts = _facts(run)
    model = build(run.config, "model", vocabulary_size=_fitted_tokenizer(run).num_tokens)
    source = run.config.values["model"].get("pretrained")
    if with_pretrained and source is not None:
        pretrained.open(source).load_into(model).show()
    return build(
        run.config,
        "task",
        model=model,
        num_classes=len(facts["labels"]),
        labels=facts["labels"],
        class_counts=facts["splits"][TRAIN]["class_counts"],
    )


def _trained(run: Run) -> tuple[Task, Runtime]:
    """The task with the best weights, computing in float32 on one device."""
    runtime = Runtime(precision="float32", strategy="one_device").start(run.seed)
    task = _task(run, with_pretrained=False)
    checkpoints.load_weights(task, run.folder / "checkpoints")
    return task, runtime


def _best(run: Run) -> str:
    return checkpoints.Checkpoints(run.folder / "checkpoints").best().fingerprint


def _reader(run: Run, split: str, folder: Path | None = None) -> Reader:
    batching = build(run.config, "data", "batching")
    return Reader(folder or run.prepared, split, batching=batching, seed=run.seed, shuffle=split == TRAIN)


def _encoded(run: Run, task: Task, runtime: Runtime) -> Path:
    """What the frozen encoder makes of every row, computed once and kept with the run."""
    folder = run.folder / "encoded"
    if not folder.exists():
        splits = {}
        for split in (TRAIN, VALIDATION):
            encoded, targets = encode(task, _reader(run, split), runtime)
            splits[split] = {"encoded": encoded, **targets}
        if runtime.is_chief:
            write_encoded(folder, splits, labels=_facts(run)["labels"])
        runtime.agree(0)  # nobody reads before the chief has written
    return folder


def _measured_split(run: Run) -> str:
    return TEST if TEST in _facts(run)["splits"] else VALIDATION


def _rows(run: Run, split: str) -> list[dict[str, str]]:
    """The raw rows of a split, in the order of its records."""
    lines = (run.prepared / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
