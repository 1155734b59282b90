"""The position of a run, which is all that resuming at the same step needs beside the tensors."""

from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict

from tfattn.training.loop import Counters, StepsTaken


@dataclass
class Totals:
    """Sums over the steps since the last validation.

    Attributes:
        losses, weights: of each term of the loss, sum(loss * weight) and sum(weight).
        tokens, examples: the numbers read.
        seconds: the time of the steps.
        gradient_norms: of each layer, of the last step, see `by_layer`.
    """

    losses: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    tokens: float = 0.0
    examples: float = 0.0
    seconds: float = 0.0
    gradient_norms: dict[str, float] = field(default_factory=dict)

    def add(self, taken: StepsTaken, seconds: float) -> None:
        """Add the steps of a call one by one, so that the sum does not depend on how steps are divided into calls."""
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
    """The run to which a checkpoint belongs, as `state.json` holds it."""

    seed: int
    fingerprint: str


@dataclass
class Position:
    """The position of a run, as `state.json` holds it.

    Attributes:
        epoch: the number of epochs that are complete.
        batch: the number of batches read of the epoch that is not.
        finished: whether the run has ended.
        counters: of steps and updates.
        totals: sums since the last validation.
        history: one dictionary per validation.
    """

    epoch: int = 0
    batch: int = 0
    finished: bool = False
    counters: Counters = field(default_factory=Counters)
    totals: Totals = field(default_factory=Totals)
    history: list[dict[str, Any]] = field(default_factory=list)
