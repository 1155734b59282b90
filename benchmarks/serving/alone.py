"""The model without a server, in full batches: an upper bound for any server.

python -m benchmarks.serving.alone FOLDER SECONDS < ROWS      prints rows per second
"""

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.serving.load import columns
from tfattn.serving.api.signature import DEFAULT
from tfattn.serving.engine.saved_model import SavedModel

BATCH = 32


def main() -> None:
    """Print the better of one batch at a time on all cores, and a batch per core."""
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
    rows = json.load(sys.stdin)
    batches = [columns(rows[first : first + BATCH]) for first in range(0, len(rows) - BATCH + 1, BATCH)]
    cores = os.cpu_count() or 1
    ways = [(SavedModel(folder, operation_threads=cores), 1), (SavedModel(folder, operation_threads=1), cores)]
    print(max(rows_per_second(model, batches, threads, seconds / 2) for model, threads in ways))


def rows_per_second(model: SavedModel, batches: Sequence, threads: int, seconds: float) -> float:
    """Measure some concurrent batches, after a warm-up of each."""
    for batch in batches:
        model.run(DEFAULT, batch)
    together, done = threading.Barrier(threads), []

    def compute(start: int) -> None:
        together.wait()
        count, end = 0, time.perf_counter() + seconds
        for batch in itertools.cycle(batches[start:] + batches[:start]):
            model.run(DEFAULT, batch)
            count += 1
            if time.perf_counter() > end:
                break
        done.append(count * BATCH / (time.perf_counter() - end + seconds))

    workers = [threading.Thread(target=compute, args=[number]) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done)


if __name__ == "__main__":
    main()
