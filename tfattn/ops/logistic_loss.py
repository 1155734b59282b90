"""How wrong scores are of things that are so: the loss of a logistic regression, cheaply."""

from typing import Any

from keras import ops

from tfattn.ops.backend import upstream_gradient

SMALLEST = 1e-37  # whose logarithm is still finite in float32


def logistic_loss(scores: Any) -> Any:
    """Compute -log(sigmoid(score)) of each score, up to 85.

    It is `ops.softplus(-scores)` in half the time: the sigmoid that gives the loss gives its gradient too.

    Args:
        scores: (...) float32, the higher, the surer that it is so.

    Returns:
        (...) float32.
    """

    @ops.custom_gradient
    def loss(scores: Any) -> tuple[Any, Any]:
        probabilities = ops.sigmoid(scores)

        def gradient(*arguments: Any, upstream: Any = None) -> Any:
            outer = upstream_gradient(arguments, upstream)
            return outer * (probabilities - 1.0)

        return -ops.log(ops.maximum(probabilities, SMALLEST)), gradient

    return loss(scores)
