"""Runs of one pipeline that differ in a few keys, each with several seeds: what they are."""

import json
import re
from collections.abc import Iterator
from typing import Annotated, NamedTuple

from pydantic import Field, PositiveInt

from tfattn.config.pipeline import Name

Value = str | int | float | bool | None
Keys = dict[str, Value]


class Planned(NamedTuple):
    """A run of a comparison.

    Attributes:
        variant: its name.
        seed: from 1.
        overrides: what it changes in the pipeline, as `--set` takes it.
    """

    variant: str
    seed: int
    overrides: list[str]

    @property
    def file(self) -> str:
        """The name of a file of its own."""
        return f"{re.sub('[^A-Za-z0-9]+', '_', self.variant).strip('_')}-{self.seed}"


class Comparison:
    """Which runs are compared.

    Args:
        name: the folder of the comparison under `runs_folder`.
        pipeline: the pipeline file from which all start.
        variants: by its name, which keys each changes; `{}` for the pipeline as it is. The others are held against the
            first.
        metric: by which they are compared, a name in metrics.json.
        seeds: how many runs of each there are, with seeds 1, 2 and so on; all variants of a seed share their rows.
        common: keys that are changed in all of them.
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

    def __iter__(self) -> Iterator[Planned]:
        """All runs, those of a seed together."""
        for seed in range(1, self.seeds + 1):
            own = {"name": self.name, "runs_folder": self.runs_folder, "seed": seed}
            for variant, keys in self.variants.items():
                changed = {**self.common, **keys, **own}
                yield Planned(variant, seed, [f"{key}={json.dumps(value)}" for key, value in changed.items()])

    def __len__(self) -> int:
        return self.seeds * len(self.variants)
