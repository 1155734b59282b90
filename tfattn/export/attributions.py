"""How much each token contributes to a score, by the gradients along the way to it."""

from collections.abc import Callable

import tensorflow as tf

NUM_STEPS = 32


def integrated_gradients(
    score: Callable[[tf.Tensor], tf.Tensor], vectors: tf.Tensor, *, num_steps: int = NUM_STEPS
) -> tuple[tf.Tensor, tf.Tensor]:
    """Attribute a score to the tokens by integrated gradients, from vectors of zeros to those of the tokens.

    The integral is the mean of the gradients in the middle of equal steps. Were there enough of them, a row's
    attributions would add up to its score less that of zeros (completeness).

    Args:
        score: of vectors (B, T, D), (B,).
        vectors: (B, T, D), of the tokens.
        num_steps: how many gradients the mean is of.

    Returns:
        the attributions (B, T) float32, and the scores (B,) of zeros.

    Example:
        >>> weights = tf.constant([1.0, -2.0])
        >>> integrated_gradients(lambda x: tf.reduce_sum(x * weights, axis=[1, 2]), tf.ones([1, 3, 2]))[0].numpy()
        array([[-1., -1., -1.]], dtype=float32)

    Source: Sundararajan et al. 2017, "Axiomatic attribution for deep networks", eq. 1 and 3; zero vectors as the
    baseline of texts: section 6.3.
    """

    def step(index: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        here = vectors * (tf.cast(index, vectors.dtype) + 0.5) / num_steps
        with tf.GradientTape() as tape:
            tape.watch(here)
            scores = score(here)
        return index + 1, total + tape.gradient(scores, here)

    _, total = tf.while_loop(
        lambda index, _: index < num_steps, step, (tf.constant(0), tf.zeros_like(vectors)), parallel_iterations=1
    )
    return tf.reduce_sum(vectors * total, axis=-1) / num_steps, score(tf.zeros_like(vectors))
