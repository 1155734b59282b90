"""The configuration of a comparison: runs of a pipeline that differ in a few keys, each with several seeds."""

import json
import re
from collections.abc import Iterator
from typing import Annotated, NamedTuple

from pydantic import Field, PositiveInt

from tfattn.config.pipeline import Name

Value = str | int | float | bool | None
Keys = dict[str, Value]


class PlannedRun(NamedTuple):
    """A run of a comparison.

    Attributes:
        variant: the variant's name.
        seed: from 1.
        overrides: changes of the pipeline, in the format of `--set`.
    """

    variant: str
    seed: int
    overrides: list[str]

    @property
    def file(self) -> str:
        """A unique file name, without suffix."""
        return f"{re.sub('[^A-Za-z0-9]+', '_', self.variant).strip('_')}-{self.seed}"


class Comparison:
    """The runs of a comparison.

    Args:
        name: the folder of the comparison under `runs_folder`.
        pipeline: the pipeline file that all variants change.
        variants: the changed keys of each variant, by its name; `{}` for the pipeline as it is. All variants are
            compared with the first.
        metric: the metric to compare, a name in metrics.json.
        seeds: the number of runs of each variant, with seeds 1, 2 and so on; variants with the same seed share rows.
        common: keys to change in all variants.
        runs_folder: the folder of all runs.

    Example:
        name: norms
        pipeline: pipelines/reversal.yaml
        metric: exact_match
        variants:
          after: {model.norm: post}
          before: {model.norm: pre}

    """

    def __init__(
        self,
        *,
        name: Name,
        pipeline: str,
        variants: Annotated[dict[str, Keys], Field(min_length=2)],
        metric: str,
        seeds: PositiveInt = 3,
        common: Keys | None = None,
        runs_folder: str = "runs",
    ):
        self.name = name
        self.pipeline = pipeline
        self.variants = variants
        self.metric = metric
        self.seeds = seeds
        self.common = common or {}
        self.runs_folder = runs_folder

    def __iter__(self) -> Iterator[PlannedRun]:
        """Iterate over all runs, grouped by seed."""
        for seed in range(1, self.seeds + 1):
            own = {"name": self.name, "runs_folder": self.runs_folder, "seed": seed}
            for variant, keys in self.variants.items():
                changed = {**self.common, **keys, **own}
                yield PlannedRun(variant, seed, [f"{key}={json.dumps(value)}" for key, value in changed.items()])

    def __len__(self) -> int:
        return self.seeds * len(self.variants)
