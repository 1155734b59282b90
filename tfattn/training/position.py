"""The position of a run: the state of a checkpoint in addition to its tensors."""

from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict

from tfattn.training.loop import Counters, StepsTaken


@dataclass
class Totals:
    """Sums over the steps since the last validation.

    Attributes:
        losses, weights: sum(loss * weight) and sum(weight) of each loss term.
        tokens, examples: the numbers of tokens and examples.
        seconds: the time of the steps.
        gradient_norms: of each layer in the last step, see `norms_by_layer`.
    """

    losses: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    tokens: float = 0.0
    examples: float = 0.0
    seconds: float = 0.0
    gradient_norms: dict[str, float] = field(default_factory=dict)

    def add(self, taken: StepsTaken, seconds: float) -> None:
        """Add the steps of a call one by one, so that sums do not depend on the division of steps into calls."""
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
    """The identity of the run of a checkpoint, in `state.json`."""

    seed: int
    fingerprint: str


@dataclass
class Position:
    """The position of a run, in `state.json`.

    Attributes:
        epoch: the number of complete epochs.
        batch: the number of batches read in the current epoch.
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
