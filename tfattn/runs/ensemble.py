"""The `ensemble:` section: several models that are trained apart and predict together."""

import copy
import dataclasses
from typing import Annotated

from pydantic import Field

from tfattn.config.build import build
from tfattn.config.schema import Config


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ensemble:
    """Trains several models of one configuration, whose mean scores are what evaluation measures and the export gives.

    `seeds` averages out where training began; `folds` lets every row measure a model that was not trained on it. With
    both, each fold has `seeds` models. They are trained one after another, and all of them stand in one SavedModel.

    Args:
        seeds: models that are trained on the same rows: the first from `training.seed`, each other from the next
            number.
        folds: parts that the rows are divided into, in place of `data.split.validation`: each part measures models that
            are trained on all others; null trains on the training rows of `data.split`.

    Example:
        ensemble: {folds: 10}
    """

    seeds: Annotated[int, Field(ge=1, le=100)] = 1
    folds: Annotated[int, Field(ge=2, le=100)] | None = None

    @property
    def size(self) -> int:
        """The number of models."""
        return self.seeds * (self.folds or 1)


def ensemble_of(config: Config) -> Ensemble:
    """Builds the section of a pipeline; without one, the ensemble has a single model."""
    return Ensemble() if config.values["ensemble"] is None else build(config, "ensemble")


def configurations(config: Config) -> list[Config]:
    """Gives the configuration of each model: a pipeline of a single one, which trains the same if it is run alone."""
    ensemble, seed = ensemble_of(config), training_seed(config)
    if ensemble.size == 1:
        return [config]
    return [
        _of_member(config, folds=ensemble.folds, fold=fold, seed=seed + number)
        for fold in range(ensemble.folds or 1)
        for number in range(ensemble.seeds)
    ]


def training_seed(config: Config) -> int:
    """Gives the seed of a model's training, or of the first one's: that of the pipeline, if none is stated."""
    given = config.at("training", "seed")
    return config.values["seed"] if given is None else given


def _of_member(config: Config, *, folds: int | None, fold: int, seed: int) -> Config:
    values = copy.deepcopy(config.values)
    values["ensemble"] = None
    values["training"]["seed"] = seed
    if folds is not None:
        values["data"]["split"] |= {"folds": folds, "fold": fold}
    return dataclasses.replace(config, values=values)
