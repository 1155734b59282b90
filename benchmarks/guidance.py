"""Guided generation: the time to compile a guide and to compute a mask, and the cost for other texts."""

import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.results import Table
from tests.guidance.vocabularies import merged
from tests.serving.generation.stand_in import StandIn
from tfattn.guidance.guides import Guides
from tfattn.serving.generation.request import Request
from tfattn.serving.generation.scheduler import RequestHandle, Scheduler

TOKENS, TEXTS, LENGTH, ROUNDS = 60_000, 5, 60, 5
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "age": {"type": "integer"},
        "kind": {"enum": ["student", "teacher", "other"]},
        "friends": {"type": "array", "items": {"$ref": "#"}, "maxItems": 3},
    },
    "required": ["name", "age", "kind", "friends"],
}
GUIDES: Mapping[str, dict[str, Any]] = {
    "one of 1,000 texts": {"guided_choice": [f"answer {number * 7919 % 1000}" for number in range(1000)]},
    "a pattern": {"guided_regex": r"[ab]{2,5}(true|-?\d+)[a-z ]*"},
    "a pattern of many states": {"guided_regex": ".*a.{12}c"},
    "any object of JSON": {"response_format": {"type": "json_object"}},
    "JSON of a schema": {"guided_json": PERSON},
}
OTHERS, MANY_WAYS = 6, {"guided_regex": "((.{0,30}){30})"}


def main() -> Iterator[Table]:
    """Measure guides alone, then an unguided text next to guided texts."""
    token_bytes = merged(seed=0, count=TOKENS)
    guides = Guides(token_bytes)
    guides.guide({"guided_choice": ["a"]}, end_ids=[])  # starts the sandbox
    rows = [[name, *map(_milliseconds, measure(guides, fields))] for name, fields in GUIDES.items()]
    columns = ["", "compile", "a token, median", "99 %", "maximum"]
    yield Table(title=f"ms with {len(token_bytes):,} tokens", columns=columns, rows=rows)
    measures = {
        "alone": lambda: free_text([]),
        f"next to {OTHERS} free texts": lambda: free_text([{}] * OTHERS),
        f"next to {OTHERS} guided texts": lambda: free_text([MANY_WAYS] * OTHERS),
    }
    seconds = {name: median(measure() for _ in range(ROUNDS)) for name, measure in measures.items()}
    rows = [[name, f"{value:.3f}", f"{value / seconds['alone']:.1f}"] for name, value in seconds.items()]
    notes = [
        f"Medians of {ROUNDS}. The guided texts match {MANY_WAYS['guided_regex']}. "
        "The model is a stand-in whose steps take less than 1 ms."
    ]
    title = f"A free text of {LENGTH} tokens"
    yield Table(title=title, columns=["", "seconds", "of alone"], rows=rows, notes=notes)


def measure(guides: Guides, fields: dict[str, Any]) -> tuple[float, float, float, float]:
    """Return the seconds of compilation, and the median, 99th percentile and maximum of the seconds per token."""
    start = time.perf_counter()
    guides.guide(fields, end_ids=[])
    compiled = time.perf_counter() - start
    taken = []
    for seed in range(TEXTS):
        rng, guide = random.Random(seed), guides.guide(fields, end_ids=[])
        for _ in range(LENGTH):
            if guide.is_finished:
                break
            token_id = rng.choice(np.flatnonzero(guide.allowed()).tolist())
            start = time.perf_counter()
            guide.advance(token_id)
            guide.allowed()
            taken.append(time.perf_counter() - start)
    return compiled, float(np.median(taken)), float(np.quantile(taken, 0.99)), max(taken)


def free_text(others: Sequence[dict[str, Any]]) -> float:
    """Return the seconds of an unguided text next to other texts, by their guides."""
    with tempfile.TemporaryDirectory() as folder, Scheduler(StandIn(Path(folder))) as scheduler:
        for guided in others:
            request = Request(prompts=("Once",), max_tokens=150, guided=guided, ignore_eos=True)
            scheduler.submit(request, RequestHandle(lambda event: None))
        start = time.perf_counter()
        for _ in scheduler.generate(Request(prompts=("Twice",), max_tokens=LENGTH, ignore_eos=True)):
            pass
        return time.perf_counter() - start


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3f}"
