"""The `ensemble:` section: several models that are trained separately and predict together."""

import copy
import dataclasses
from typing import Annotated

from pydantic import Field

from tfattn.config.build import build
from tfattn.config.schema import Config


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Several models of one configuration, whose mean scores are the predictions of evaluation and export.

    `seeds` averages out the effect of the initial weights; `folds` evaluates every row with a model that was not
    trained on it. With both, each fold has `seeds` models. They are trained one after another, and exported together in
    one SavedModel.

    Args:
        seeds: the number of models that are trained on the same rows: the first with `training.seed`, the others with
            the next numbers.
        folds: the number of parts into which the rows are divided, instead of `data.split.validation`: each part
            evaluates models that are trained on all others; null trains on the training rows of `data.split`.

    Example:
        ensemble: {folds: 10}
    """

    seeds: Annotated[int, Field(ge=1, le=100)] = 1
    folds: Annotated[int, Field(ge=2, le=100)] | None = None

    @property
    def size(self) -> int:
        """The number of models."""
        return self.seeds * (self.folds or 1)


def build_ensemble(config: Config) -> Ensemble:
    """Build the `ensemble` section; without the section, the ensemble has a single model."""
    return Ensemble() if config.values["ensemble"] is None else build(config, "ensemble")


def member_configs(config: Config) -> list[Config]:
    """Return the configuration of each model, a pipeline of a single model with the same result if it is run alone."""
    ensemble, seed = build_ensemble(config), training_seed(config)
    if ensemble.size == 1:
        return [config]
    return [
        _member_config(config, folds=ensemble.folds, fold=fold, seed=seed + number)
        for fold in range(ensemble.folds or 1)
        for number in range(ensemble.seeds)
    ]


def training_seed(config: Config) -> int:
    """Return `training.seed`, by default the seed of the pipeline; for an ensemble, the seed of its first model."""
    given = config.at("training", "seed")
    return config.values["seed"] if given is None else given


def _member_config(config: Config, *, folds: int | None, fold: int, seed: int) -> Config:
    values = copy.deepcopy(config.values)
    values["ensemble"] = None
    values["training"]["seed"] = seed
    if folds is not None:
        values["data"]["split"] |= {"folds": folds, "fold": fold}
    return dataclasses.replace(config, values=values)
