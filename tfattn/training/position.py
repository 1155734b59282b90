"""Where a run stands, beside its weights: enough to go on at the very step."""

from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict

from tfattn.training.loop import Counters, StepsTaken


@dataclass
class Totals:
    """Sums over the steps since the last validation.

    Attributes:
        losses, weights: of each term of the loss, sum(loss * weight) and sum(weight).
        tokens, examples: that were read.
        seconds: that the steps took.
    """

    losses: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    tokens: float = 0.0
    examples: float = 0.0
    seconds: float = 0.0

    def add(self, taken: StepsTaken, seconds: float) -> None:
        """Add the steps of a call, one by one: however steps fall into calls, the sum is the same."""
        self.seconds += seconds
        for step, finite in enumerate(taken.records["finite"]):
            self.tokens += float(taken.records["tokens"][step])
            self.examples += float(taken.records["examples"][step])
            for term in taken.losses if finite else ():
                loss, weight = float(taken.losses[term][step]), float(taken.weights[term][step])
                self.losses[term] = self.losses.get(term, 0.0) + loss * weight
                self.weights[term] = self.weights.get(term, 0.0) + weight

    @property
    def speeds(self) -> dict[str, float]:
        """Examples and tokens per second."""
        seconds = max(self.seconds, 1e-9)
        return {"examples_per_second": self.examples / seconds, "tokens_per_second": self.tokens / seconds}


class Identity(TypedDict):
    """Which run a checkpoint belongs to; it is in `state.json`, too."""

    seed: int
    fingerprint: str


@dataclass
class Position:
    """Where a run stands, beside its weights; all of it is in `state.json`."""

    epoch: int = 0
    batch: int = 0
    finished: bool = False
    counters: Counters = field(default_factory=Counters)
    totals: Totals = field(default_factory=Totals)
    history: list[dict[str, Any]] = field(default_factory=list)
