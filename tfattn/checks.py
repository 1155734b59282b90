"""What can be known to be wrong before anything long begins: of a configuration, then of it and the data."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tfattn import registry
from tfattn.config.build import build, located
from tfattn.config.constructors import constructor
from tfattn.config.relations import broken
from tfattn.config.schema import EMBEDDINGS, Config
from tfattn.data.section import Data
from tfattn.errors import ConfigError, ConfigProblems
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.runs.data import data_of
from tfattn.runs.ensemble import ensemble_of
from tfattn.runs.member import Member, build_task, check_labels
from tfattn.tasks.task import Task
from tfattn.training.memory import check_memory, outline
from tfattn.training.trainer import Trainer
from tfattn.vectors.token_embeddings import check_embeddings


def check(config: Config) -> Data:
    """Find all that can be known to be wrong before data are read.

    Returns:
        the built `data` section.
    """
    sections = {name: functools.partial(build, config, name) for name in ("training", "export", "runtime")}
    parts = _built({"data": lambda: data_of(config), **sections})
    data: Data = parts["data"]
    preprocessor = data.preprocessing
    name = config.values["task"]["name"]
    kind = registry.kind(name)
    if kind.served:
        registry.find("served", name).check_fields(preprocessor.fields)
    if kind.report:
        registry.find("report", name)
    # True sizes and targets are known from the data; any will do to check the others.
    stated = config.values["model"]
    sizes = {key: stated.get(key, size) for key, size in preprocessor.sizes.items()}
    model = outline(lambda: build(config, "model", **sizes))
    _check_spelling(model, preprocessor)
    task = outline(lambda: build_task(config, model, preprocessor, data.targets.facts))
    if (beginning := stated.get(EMBEDDINGS)) is not None:
        with located(config, "model"):
            check_embeddings(model, preprocessor, beginning["from"], is_pretrained=stated["pretrained"] is not None)
    _check_measuring(config, data)
    _check_task(config, task, parts["training"], sizes)
    _check_length(config, preprocessor, model)
    _check_ensemble(config, task, data)
    return data


def check_prepared(members: Sequence[Member]) -> None:
    """Find what the data say to be wrong, before anything is trained: true sizes, and labels that they do not have."""
    check_labels(members)
    for member in {member.prepared: member for member in members}.values():
        preprocessor = member.preprocessor()
        task = outline(functools.partial(member.task, preprocessor))
        _check_task(member.config, task, member.trainer, preprocessor.sizes)


def _built(sections: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Build sections, by their names; report all problems of all sections at once."""
    built, problems = {}, []
    for name, make in sections.items():
        try:
            built[name] = make()
        except ConfigError as error:
            problems.append(error)
    if problems:
        raise ConfigProblems(problems)
    return built


def _check_task(config: Config, task: Task, trainer: Trainer, known: dict[str, Any]) -> None:
    with located(config):
        check_memory(task, copies=trainer.copies, sizes=dict(_sizes(config, known)))
    with located(config, "training"):
        trainer.monitored(task)


def _sizes(config: Config, known: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """List the numbers that sizes of weights follow from, by their keys; those of the preprocessing as `known`."""
    stated, preprocessing = config.values["model"], config.at("data", "preprocessing")
    found = {f"model.{key}": value for key, value in stated.items()}
    found |= {
        f"data.preprocessing.{key}": known.get(key, value) for key, value in preprocessing.items() if key not in stated
    }
    return ((key, value) for key, value in found.items() if type(value) is int)


def _check_length(config: Config, preprocessor: Preprocessor, model: Any) -> None:
    """Hold the lengths of what was built against each other: in parts of one's own they may be no keys."""
    limits = {
        "data": {"preprocessing": {"max_length": preprocessor.max_length}},
        "model": {"max_sequence_length": getattr(model, "max_sequence_length", None)},
    }
    with located(config):
        for problem in broken(constructor("sections", config.section).relations, limits):
            raise problem


def _check_spelling(model: Any, preprocessor: Preprocessor) -> None:
    """Refuse texts that are not spelled, where the model reads characters."""
    if getattr(model, "reads_spelling", False) and not preprocessor.spells:
        raise ConfigError(
            "the model reads words by their characters",
            key="data.preprocessing",
            expected="spelled_words",
            received=type(preprocessor).__name__,
        )


def _check_measuring(config: Config, data: Data) -> None:
    """Refuse data of which all rows train."""
    if data.validation_source is None and data.split.validation == 0 and not data.split.folds:
        with located(config, "data"):
            raise ConfigError(
                "no rows are left to measure",
                key="split.validation",
                expected="a fraction above 0, or a `validation_source`",
                received="0",
            )


def _check_ensemble(config: Config, task: Task, data: Data) -> None:
    ensemble, origin = ensemble_of(config), config.origins["ensemble",]
    if ensemble.size > 1 and not task.predicts_together:
        raise ConfigError(
            f"several models of the task {config.values['task']['name']} cannot predict as one",
            where=f"{origin}: ensemble",
            expected="null",
            received=f"{ensemble.size} models",
            remedy="Train each with a `seed` and a `name` of its own.",
        )
    if ensemble.folds is None:
        return
    where = f"{config.origins['ensemble', 'folds']}: ensemble.folds"
    if not data.preprocessing.reads_columns:
        raise ConfigError(
            "texts are not divided into folds",
            where=where,
            expected="a table",
            remedy="Set ensemble.seeds, or data.split.folds and data.split.fold for one fold.",
        )
    for key, is_given in {"validation_source": data.validation_source, "split.folds": data.split.folds}.items():
        if is_given:
            raise ConfigError(
                "the rows that measure are given twice",
                where=where,
                expected=f"either `ensemble.folds` or `data.{key}`",
                received="both",
            )
