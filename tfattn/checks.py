"""Checks of a configuration, and of a configuration with its data, before long computations start."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tfattn import registry
from tfattn.config.build import build, locate_errors
from tfattn.config.constructors import constructor
from tfattn.config.relations import violations
from tfattn.config.schema import EMBEDDINGS, Config
from tfattn.data.section import Data
from tfattn.errors import ConfigError, ConfigProblems
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.runs.data import build_data
from tfattn.runs.ensemble import build_ensemble
from tfattn.runs.member import Member, build_task, check_labels
from tfattn.runs.teacher import open_teacher
from tfattn.tasks.task import Task
from tfattn.trained.calibration import check_calibration_rows, check_section
from tfattn.training.memory import build_without_values, check_memory
from tfattn.training.trainer import Trainer
from tfattn.vectors.token_embeddings import check_embeddings


def check(config: Config) -> Data:
    """Check everything that can be checked before data are read.

    Returns:
        the built `data` section.

    Raises:
        ConfigError: the configuration has errors.
    """
    sections = {
        name: functools.partial(build, config, name) for name in ("training", "evaluation", "export", "runtime")
    }
    parts = _build_all({"data": lambda: build_data(config), **sections})
    data: Data = parts["data"]
    preprocessor = data.preprocessing
    name = config.values["task"]["name"]
    kind = registry.kind(name)
    if kind.served:
        registry.find("served", name).check_fields(preprocessor.fields)
    if kind.report:
        registry.find("report", name)
    # The actual sizes and targets depend on the data; placeholders are sufficient for these checks.
    values = config.values["model"]
    sizes = {key: values.get(key, size) for key, size in preprocessor.sizes.items()}
    model = build_without_values(lambda: build(config, "model", **sizes))
    _check_spelling(model, preprocessor)
    task = build_without_values(lambda: build_task(config, model, preprocessor, data.targets.facts))
    if (embeddings := values.get(EMBEDDINGS)) is not None:
        with locate_errors(config, "model"):
            check_embeddings(model, preprocessor, embeddings["from"], is_pretrained=values["pretrained"] is not None)
    open_teacher(config)
    _check_validation_rows(config, data)
    _check_task(config, task, parts["training"], sizes)
    _check_length(config, preprocessor, model)
    _check_ensemble(config, task, data)
    check_section(config, task, data)
    return data


def check_prepared(members: Sequence[Member]) -> None:
    """Check the configuration with the prepared data, before training: the actual sizes, labels and rows."""
    check_labels(members)
    for member in {member.prepared: member for member in members}.values():
        preprocessor = member.preprocessor()
        task = build_without_values(functools.partial(member.task, preprocessor))
        _check_task(member.config, task, member.trainer, preprocessor.sizes)
        check_calibration_rows(member)


def _build_all(sections: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Build sections by name, and report the problems of all sections together."""
    built, problems = {}, []
    for name, make in sections.items():
        try:
            built[name] = make()
        except ConfigError as error:
            problems.append(error)
    if problems:
        raise ConfigProblems(problems)
    return built


def _check_task(config: Config, task: Task, trainer: Trainer, data_sizes: dict[str, Any]) -> None:
    with locate_errors(config):
        check_memory(task, copies=trainer.copies, sizes=dict(_sizes(config, data_sizes)))
    with locate_errors(config, "training"):
        trainer.monitored(task)


def _sizes(config: Config, data_sizes: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """List the sizes of model and preprocessing by key, with the actual sizes of the data."""
    model, preprocessing = config.values["model"], config.at("data", "preprocessing")
    found = {f"model.{key}": value for key, value in model.items()}
    found |= {
        f"data.preprocessing.{key}": data_sizes.get(key, value)
        for key, value in preprocessing.items()
        if key not in model
    }
    return ((key, value) for key, value in found.items() if type(value) is int)


def _check_length(config: Config, preprocessor: Preprocessor, model: Any) -> None:
    """Check the maximum lengths of the built parts, which plugins may not have as keys."""
    limits = {
        "data": {"preprocessing": {"max_length": preprocessor.max_length}},
        "model": {"max_sequence_length": getattr(model, "max_sequence_length", None)},
    }
    with locate_errors(config):
        for problem in violations(constructor("sections", config.section).relations, limits):
            raise problem


def _check_spelling(model: Any, preprocessor: Preprocessor) -> None:
    """Check that the preprocessor provides characters if the model reads them."""
    if getattr(model, "reads_spelling", False) and not preprocessor.spells:
        raise ConfigError(
            "the model reads the characters of words",
            key="data.preprocessing",
            expected="spelled_words",
            received=type(preprocessor).__name__,
        )


def _check_validation_rows(config: Config, data: Data) -> None:
    """Check that there are validation rows."""
    if data.validation_source is None and data.split.validation == 0 and not data.split.folds:
        with locate_errors(config, "data"):
            raise ConfigError(
                "there are no validation rows",
                key="split.validation",
                expected="a fraction above 0, or a `validation_source`",
                received="0",
            )


def _check_ensemble(config: Config, task: Task, data: Data) -> None:
    ensemble, origin = build_ensemble(config), config.origins["ensemble",]
    if ensemble.size > 1 and not task.supports_ensemble:
        raise ConfigError(
            f"the task {config.values['task']['name']} does not support ensembles",
            where=f"{origin}: ensemble",
            expected="null",
            received=f"{ensemble.size} models",
            remedy="Train each model separately, with its own `seed` and `name`.",
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
                "the validation rows are given twice",
                where=where,
                expected=f"either `ensemble.folds` or `data.{key}`",
                received="both",
            )
