"""Pipeline files with comments: the values of a pipeline, the reason for each, and the expected time."""

import json
import math
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tfattn.config.read import parse_yaml, read_yaml
from tfattn.config.recommended_training import recommended_training
from tfattn.config.show import scalar
from tfattn.recipes.samples import counted

LINE_WIDTH = 110
BUDGET_SECONDS = 300  # of training, unless one epoch takes longer
MAX_EPOCH_SECONDS = 3600  # if an epoch takes longer, it reads only some of the rows
SECTIONS = ("name", "data", "model", "task", "training", "runtime")  # in the order of the file
_PLAIN = re.compile(r"[\w./:+-]+( [\w./:+-]+)*")  # also plain inside of { } and [ ]


@dataclass
class Plan:
    """A pipeline for a data set.

    Attributes:
        purpose: what the model does, a sentence.
        found: the data, and its size.
        values: the pipeline.
        reasons: dotted key -> why it has its value.
        seconds: expected time of `tfattn run` on two CPU cores.
        warnings: what the user should know before training.
    """

    purpose: str
    found: str
    values: dict[str, Any]
    reasons: dict[str, str] = field(default_factory=dict)
    seconds: float = 60
    warnings: list[str] = field(default_factory=list)

    def add_training(self, *, num_rows: int, epoch_seconds: float, epoch_steps: float, fixed_seconds: float) -> None:
        """Add `training`: the recommended training of the model, with fewer epochs or rows if it takes too long.

        Args:
            num_rows: the number of rows.
            epoch_seconds: the expected time of an epoch.
            epoch_steps: the expected number of steps of an epoch.
            fixed_seconds: the expected time of all other stages.
        """
        if epoch_seconds > MAX_EPOCH_SECONDS:
            fraction = BUDGET_SECONDS / epoch_seconds
            self.values["data"]["max_rows"] = max(1000, int(float(f"{num_rows * fraction:.1e}")))
            self.reasons["data.max_rows"] = (
                f"an epoch over all rows takes about {epoch_seconds / 3600:.0f} hours; these rows are spread over the "
                "file, and null reads all"
            )
            epoch_seconds, epoch_steps = epoch_seconds * fraction, epoch_steps * fraction
        model = {key: value for key, value in self.values["model"].items() if key != "from"}
        if part := self.values["model"].get("from"):
            model = read_yaml(part).values | model
        training, origin = recommended_training(self.values | {"model": model})
        epochs = max(training["epochs"], math.ceil(training.get("min_steps", 0) / epoch_steps))
        most = max(1, int(BUDGET_SECONDS / epoch_seconds))
        self.values["training"] = {"epochs": most} if epochs > most else {}
        self.values["training"]["selection"] = "last_epoch"
        self.reasons["training"] = f"Other keys have the values that are {origin}: `tfattn show` prints them."
        self.reasons["training.selection"] = "the validation rows select nothing, so their metrics are unbiased"
        if epochs > most:
            self.reasons["training.epochs"] = (
                f"one epoch takes about {counted(max(1, round(epoch_seconds)), 'second')}; {epochs} are recommended"
            )
        self.seconds = fixed_seconds + min(epochs, most) * epoch_seconds

    @property
    def time(self) -> str:
        """The expected time in words."""
        if self.seconds > 5400:
            return f"about {self.seconds / 3600:.0f} hours"
        return f"about {max(1, round(self.seconds / 60))} minutes" if self.seconds > 90 else "about a minute"

    @property
    def summary(self) -> list[str]:
        """What was found and chosen, in lines for the console."""
        chosen = [self.reasons[key] for key in ("task", "model", "data.source.fields") if key in self.reasons]
        return [f"{self.found}.", self.purpose, *chosen, *(f"Note: {warning}" for warning in self.warnings)]

    def text(self, file: str) -> str:
        """Return the pipeline file; `file` is its name, for the command in its first lines."""
        header = [self.purpose, f"  tfattn run {file}", f"2 CPU cores: {self.time}, an estimate."]
        header += [f"Written by `tfattn init` for {self.found}.", *(f"Note: {warning}" for warning in self.warnings)]
        lines = [line for text in header for line in _comment(text, "")]
        return (
            "\n".join([*lines, *self._lines({key: self.values[key] for key in SECTIONS if key in self.values}, "", "")])
            + "\n"
        )

    def _lines(self, values: dict[str, Any], path: str, indent: str) -> Iterator[str]:
        for key, value in values.items():
            inner = f"{path}{key}"
            if inner in self.reasons:
                reason = self.reasons[inner]
                yield from _comment(reason[:1].upper() + reason[1:], indent)
            has_reasons = any(other.startswith(f"{inner}.") for other in self.reasons)
            line = f"{indent}{_scalar(key)}: {flow(value)}"
            if (
                isinstance(value, dict)
                and value
                and (has_reasons or not indent and len(value) > 1 or len(line) > LINE_WIDTH)
            ):
                yield f"{indent}{_scalar(key)}:"
                yield from self._lines(value, f"{inner}.", indent + "  ")
            elif isinstance(value, list) and len(line) > LINE_WIDTH:
                yield f"{indent}{_scalar(key)}:"
                yield from (f"{indent}  - {_scalar(item)}" for item in value)
            else:
                yield line


def _comment(text: str, indent: str) -> list[str]:
    if text.startswith("  "):
        return [f"# {text}"]
    return textwrap.wrap(text, LINE_WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def flow(value: Any) -> str:
    """Return a value as YAML in one line.

    Example:
        >>> flow({"split": {"validation": 0.2}})
        '{split: {validation: 0.2}}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        # YAML's core schema reads 1e-05 as a number too, but people write 1e-5.
        return re.sub(r"e-0", "e-", f"{value:g}" if parse_yaml(f"{value:g}", "").values == value else repr(value))
    text = scalar(value)
    is_plain = not isinstance(value, str) or text.startswith('"') or _PLAIN.fullmatch(text)
    return text if is_plain else json.dumps(value, ensure_ascii=False)
