"""The `evaluation:` section: options of the evaluation."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Evaluation settings.

    Args:
        baseline: whether a simple model of scikit-learn is trained on the same rows for comparison, in seconds. It is
            for classification, multi-label classification and regression.
    """

    baseline: bool = True
