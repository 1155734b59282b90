"""The `search:` section of a pipeline: ranges of settings, among which a search chooses."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, PositiveInt

from tfattn.config.schema import Config
from tfattn.errors import ConfigError

RATE_FACTOR = 5.0  # the default range of the learning rate: from a fifth to five times its value


# A list of choices, or {"low": 0.1, "high": 0.5, "log": True}.
Range = list[Any] | dict[str, Any]


@dataclass(kw_only=True)
class Search:
    """Ranges of settings for `tfattn search`.

    Args:
        ranges: for each key of the pipeline a list of choices, or `{low: ..., high: ..., log: true}`; by default the
            learning rate and, if the model has it, the dropout.
        trials: the number of trials, including the pipeline as it is.
        test: the fraction of rows that are held out in all trials and not used for selection, for pipelines without
            test rows.
        pruning: whether a trial ends if it is worse than the median of the finished trials at the same step.

    Raises:
        ConfigError: a range is empty.

    Example:
        search:
          trials: 30
          ranges:
            training.optimizer.learning_rate: {low: 1e-4, high: 1e-2, log: true}
            model.num_layers: {low: 2, high: 4}
            model.activation: [gelu, geglu]
    """

    ranges: dict[str, Any] | None = None
    trials: PositiveInt = 20
    test: Annotated[float, Field(gt=0.0, lt=0.5)] = 0.2
    pruning: bool = True

    def __post_init__(self):
        for key, values in (self.ranges or {}).items():
            _check_range(key, values)

    def ranges_for(self, config: Config) -> dict[str, Range]:
        """Return the configured ranges, or the default ranges for a pipeline."""
        if self.ranges:
            return self.ranges
        rate = config.at("training", "optimizer", "learning_rate")
        found: dict[str, Range] = {
            "training.optimizer.learning_rate": {"low": rate / RATE_FACTOR, "high": rate * RATE_FACTOR, "log": True}
        }
        if config.values["model"].get("dropout") is not None:
            found["model.dropout"] = {"low": 0.0, "high": 0.4}
        return found


def current_values(config: Config, ranges: Mapping[str, Range]) -> dict[str, Any]:
    """Return the values of a pipeline that are in their ranges, by key."""
    values = {key: _value(config.values, key) for key in ranges}
    return {key: value for key, value in values.items() if _contains(ranges[key], value)}


def _value(values: Any, key: str) -> Any:
    for part in key.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values


def _contains(values: Range, value: Any) -> bool:
    if isinstance(values, dict):
        return isinstance(value, int | float) and values["low"] <= value <= values["high"]
    return value in values


def _check_range(key: str, values: Any) -> None:
    """Check that a range has values.

    Raises:
        ConfigError: it has none, or is neither a list nor an interval.
    """
    what, expected = "", "low < high"
    if isinstance(values, list):
        what, expected = "the range is empty" if not values else "", "a choice"
    elif not isinstance(values, dict) or not {"low", "high"} <= values.keys() <= {"low", "high", "log"}:
        what, expected = "not a range", "a list of choices, or {low: ..., high: ..., log: true}"
    elif not all(_is_number(values[end]) for end in ("low", "high")) or type(values.get("log", False)) is not bool:
        what, expected = "not a range", "numbers for low and high, and true or false for log"
    elif values["low"] >= values["high"]:
        what = "the range is empty"
    elif values.get("log") and values["low"] <= 0:
        what, expected = "the range has no logarithms", "0 < low < high, because of `log: true`"
    if what:
        raise ConfigError(what, key=f"ranges.{key}", expected=expected, received=str(values))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
