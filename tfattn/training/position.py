"""Where a run stands, beside its weights: enough to go on at the very step."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from tfattn.training.loop import RECORD, Counters


@dataclass
class Totals:
    """Sums over the steps of an epoch so far."""

    loss: float = 0.0
    weight: float = 0.0
    tokens: float = 0.0
    examples: float = 0.0
    seconds: float = 0.0

    def add(self, records: np.ndarray, seconds: float) -> None:
        """Adds the steps of a call, one by one: however steps fall into calls, the sum is the same."""
        self.seconds += seconds
        for record in records:
            step = dict(zip(RECORD, map(float, record), strict=True))
            self.tokens += step["tokens"]
            self.examples += step["examples"]
            if step["finite"]:
                self.loss += step["loss"] * step["weight"]
                self.weight += step["weight"]

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
