"""A hundred new versions, one after the other: does the process that answers grow?"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.serving.exports import Export
from benchmarks.serving.load import Load, rpc_request
from benchmarks.serving.running import running
from benchmarks.serving.switches import switch

FIRST = 5  # reloads after which everything that stays has been made
MIB = 2**20


@dataclass(frozen=True)
class Reloads:
    """Memory of the process that answers, in bytes.

    Attributes:
        memory: after each reload.
        failed: how many requests were not answered.
    """

    memory: list[int]
    failed: int

    @property
    def growth(self) -> float:
        """How much more it holds at the end than after the first few reloads, in MiB."""
        return (self.memory[-1] - self.memory[FIRST - 1]) / MIB


def main(model: Path, texts: Sequence[str], *, short: bool) -> None:
    """Prints the growth over 100 reloads."""
    seen = measure(model, texts, reloads=FIRST + (5 if short else 100))
    steps = seen.memory[FIRST - 1 :: max(1, len(seen.memory) // 8)]
    print(
        f"{model}: memory of the front process after {len(seen.memory)} reloads, old versions removed, some requests\n"
        f"after {FIRST}, then in equal steps: {', '.join(f'{size / MIB:.1f}' for size in steps)} MiB\n"
        f"growth {seen.growth:+.1f} MiB over {len(seen.memory) - FIRST} reloads, failed requests {seen.failed}"
    )


def measure(model: Path, texts: Sequence[str], *, reloads: int) -> Reloads:
    """Adds and removes so many versions; asks each of them a little."""
    memory, failed = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        export = Export(model, Path(scratch))
        requests = [rpc_request(export.name, [text]) for text in texts]
        with running(export.folder, poll_seconds=0.2) as server:
            for _ in range(reloads):
                switch(server, export, remove=True)
                failed += len(Load(server.grpc, requests, seconds=0.5, clients=4).answers().failed)
                memory.append(server.memory)
    return Reloads(memory, failed)
