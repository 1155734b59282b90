"""The gate of LiteRT files with small weights: a file must predict as well as the trained model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn import console
from tfattn.export.network_split import Halves, Split
from tfattn.export.servable_model import ServableModel
from tfattn.litert.model import LiteRtModel
from tfattn.litert.quantizer import matrices, quantize
from tfattn.rows import evenly_spaced, joined_rows

MAX_LOSS = 0.005  # of accuracy or F1, or of the agreement with the trained model if there is no such metric
BATCH_SIZE = 32
SAMPLE = 64  # rows on which the effect of a single matrix is measured
MAX_DIFFERENCE = 0.05  # of the numbers of an export without metrics, such as vectors
SIGNATURE = "serving_default"
LOWER_IS_BETTER = ("error", "loss", "perplexity")

Values = Mapping[str, np.ndarray]
Metrics = Callable[[Values], Mapping[str, float]]


@dataclass
class Passed:
    """A file with small weights that passed, or the best one that failed.

    Attributes:
        content: the content of the file.
        report: `passed`; the metric with its value of the trained model (`float32`) and of the file (`value`); the
            comparison with the trained model; and the matrices that are kept in float32.
    """

    content: bytes
    report: dict[str, Any] = field(default_factory=dict)


class Gate:
    """Measures LiteRT files on the rows of an export.

    Args:
        served: the exported model.
        parts: its parts.
        rows: N raw rows.
        expected: predictions of the trained model for the rows, N values by name.
        tolerance: the tolerance of the comparison.
        metrics: returns the metrics of predictions of all rows; None if the task has no such metrics.
        scratch: a folder for files that are measured.
    """

    def __init__(
        self,
        served: ServableModel,
        parts: Split,
        *,
        rows: Sequence[Mapping[str, Any]],
        expected: Values,
        tolerance: float,
        metrics: Metrics | None,
        scratch: Path,
    ):
        self._served, self._parts = served, parts
        self._rows, self._expected, self._tolerance = rows, expected, tolerance
        self._metrics, self._scratch = metrics, scratch

    def passed(self, content: bytes) -> Passed:
        """Quantize a file with float32 weights; matrices that hurt stay in float32 until the file passes.

        Matrices are kept in the order of the error of the outputs that each causes alone: one, two, four, and so on, up
        to half of them.
        """
        candidate = self._measured(content, ())
        if candidate.report["passed"]:
            return candidate
        names = matrices(content)
        console.note(f"int8 loses too much ({words(candidate.report)}): measuring {len(names)} matrices")
        by_harm = self._by_harm(content, names)
        number = 1
        while number <= len(names) / 2 and not candidate.report["passed"]:
            candidate = self._measured(content, by_harm[:number])
            number *= 2
        return candidate

    def _measured(self, content: bytes, keep_float: Sequence[str]) -> Passed:
        quantized = quantize(content, keep_float=keep_float)
        outputs = self._computed(quantized, self._rows, self._parts.answer)
        plain = {name: _plain(joined_rows(parts).tolist()) for name, parts in outputs.items()}
        request = self._served.request(self._rows)
        compared = self._served.compare({**request, **self._expected}, plain, tolerance=self._tolerance).report
        measured = self._loss(quantized, compared)
        report = {"passed": measured.pop("loss") <= MAX_LOSS, **measured, **compared, "kept_float32": list(keep_float)}
        return Passed(quantized, report)

    def _loss(self, quantized: bytes, compared: Mapping[str, float]) -> dict[str, Any]:
        """Return the metric, its values, and the loss."""
        if self._metrics is not None and self._parts.predictions is not None:
            values = self._computed(quantized, self._rows, self._parts.predictions)
            found = self._metrics({name: joined_rows(parts) for name, parts in values.items()})
            reference = self._metrics(self._expected)
            name = next((name for name in self._served.headline_metrics if name in found), None)
            if name is not None:
                before, after = float(reference[name]), float(found[name])
                return {"metric": name, "float32": before, "value": after, "loss": loss(name, before, after)}
        name, value = next(iter(compared.items()))  # an agreement, or the largest difference of numbers
        if name.endswith("agreement"):
            return {"metric": name, "float32": 1.0, "value": value, "loss": 1.0 - value}
        return {"metric": name, "float32": 0.0, "value": value, "loss": value * MAX_LOSS / MAX_DIFFERENCE}

    def _by_harm(self, content: bytes, names: Sequence[str]) -> list[str]:
        """Sort matrices by the mean error of the network's outputs that each causes alone, the largest first."""
        rows = evenly_spaced(self._rows, SAMPLE)
        exact = self._network_outputs(content, rows)
        harm = {}
        for name in names:
            alone = quantize(content, keep_float=[other for other in names if other != name])
            found = self._network_outputs(alone, rows)
            harm[name] = sum(float(np.abs(a - b).mean()) for a, b in zip(exact, found, strict=True))
        return sorted(names, key=harm.__getitem__, reverse=True)

    def _network_outputs(self, content: bytes, rows: Sequence[Mapping[str, Any]]) -> list[np.ndarray]:
        outputs: list[np.ndarray] = []

        def network(features: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            found = run(features)
            outputs.extend(np.asarray(value, np.float64) for value in found.values())
            return found

        run = self._network(content)
        self._compute(network, rows, self._parts.answer)
        return outputs

    def _computed(
        self, content: bytes, rows: Sequence[Mapping[str, Any]], halves: Halves
    ) -> dict[str, list[np.ndarray]]:
        return self._compute(self._network(content), rows, halves)

    def _compute(
        self, network: Callable, rows: Sequence[Mapping[str, Any]], halves: Halves
    ) -> dict[str, list[np.ndarray]]:
        """Return the results of all batches of rows, by name."""
        request, specs = self._served.request(rows), halves.before.input_signature
        results: dict[str, list[np.ndarray]] = {}
        for start in range(0, len(rows), BATCH_SIZE):
            batch = {name: values[start : start + BATCH_SIZE] for name, values in request.items()}
            inputs = [tf.constant(batch[spec.name], spec.dtype) for spec in specs]
            for name, value in halves.compute(network, *inputs).items():
                results.setdefault(name, []).append(value)
        return results

    def _network(self, content: bytes) -> Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]:
        path = self._scratch / "measured.tflite"
        path.write_bytes(content)
        model = LiteRtModel(path)
        names, _ = model.signatures[SIGNATURE]
        return lambda features: model.run(SIGNATURE, {name: features[name] for name in names})


def loss(metric: str, before: float, after: float) -> float:
    """Return how much worse a metric is: a difference, relative to the value for errors."""
    if any(word in metric for word in LOWER_IS_BETTER):
        return (after - before) / max(before, 1e-9)
    return before - after


def words(report: Mapping[str, Any]) -> str:
    """Describe a report in a line."""
    kept = len(report["kept_float32"])
    matrices_kept = f", {kept} {'matrix' if kept == 1 else 'matrices'} in float32" if kept else ""
    return f"{report['metric']} {report['value']:.4f}, float32 {report['float32']:.4f}{matrices_kept}"


def _plain(value: Any) -> Any:
    """Decode the bytes of nested lists."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.decode("utf-8") if isinstance(value, bytes) else value
