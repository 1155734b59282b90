"""Attention of a recurrent decoder to its source."""

from typing import Any

import keras
from keras import ops

from tfattn.ops.attention import additive_scores, attend, dot_scores


class Alignment(keras.layers.Layer):
    """Attention to the positions of a source, by one of several score functions, for queries without heads.

    The keys of a source are computed once, by `keys_of`. Several continuations of each source (beams), or several
    positions of a target, share them as W queries of one source.

    Masks: positions that `padding_mask` hides get a weight of 0.

    Args:
        score: the score function of a state s and an annotation h. additive: v' tanh(W s + U h), a network that is
            trained with all the rest; concat: Luong's name for the same; dot: s' h, for which both need the same width;
            general: s' W h.

    Call arguments:
        query: (B, W, Q), states of the decoder.
        key: (B, S, Q), of `keys_of`.
        value: (B, S, D), the vectors whose means are returned; of any width.
        padding_mask: (B, S) bool, True at real tokens; None if all are real.

    Returns:
        the weighted means of the values (B, W, D) and the attention weights (B, W, S), which sum to 1; both float32.

    Raises:
        ValueError: the score is dot, and states and annotations have different widths.

    Example:
        >>> alignment = Alignment(score="general")
        >>> alignment.build((None, None, 8), (None, None, 6))
        >>> annotations = ops.ones((2, 5, 6))
        >>> means, weights = alignment(ops.ones((2, 3, 8)), alignment.keys_of(annotations), annotations)
        >>> means.shape, weights.shape
        (TensorShape([2, 3, 6]), TensorShape([2, 3, 5]))

    Source: additive: Bahdanau et al. 2015, appendix A.1.2, with n' = n; the others: Luong et al. 2015, section 3.1.
    """

    def __init__(self, *, score: str = "additive", **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.score = score
        self.is_additive = score in ("additive", "concat")

    def build(self, query_shape: tuple, annotations_shape: tuple) -> None:
        width, annotations_width = query_shape[-1], annotations_shape[-1]
        if self.score == "dot":
            if width != annotations_width:
                raise ValueError(
                    f"score dot: expected annotations of the width {width} of the states, received {annotations_width}"
                )
            return
        self.key_kernel = self.add_weight(name="key", shape=(annotations_width, width), initializer="glorot_uniform")
        if self.is_additive:
            self.query_kernel = self.add_weight(name="query", shape=(width, width), initializer="glorot_uniform")
            initializer = keras.initializers.TruncatedNormal(stddev=width**-0.5)
            self.vector = self.add_weight(name="vector", shape=(width,), initializer=initializer)

    def keys_of(self, annotations: Any) -> Any:
        """Project annotations to the keys of `call`: (B, S, C) -> (B, S, Q) float32."""
        if self.score == "dot":
            return ops.cast(annotations, "float32")
        return self._product(annotations, self.key_kernel)

    def call(self, query: Any, key: Any, value: Any, padding_mask: Any = None) -> tuple[Any, Any]:
        if self.is_additive:
            scores = additive_scores(self._product(query, self.query_kernel), key, self.vector)
        else:
            scores = dot_scores(query, key)
        return attend(scores, value, padding_mask)

    def _product(self, x: Any, kernel: Any) -> Any:
        # A single matrix product in the policy's type; the scores need float32.
        x, kernel = (ops.cast(value, self.compute_dtype) for value in (x, kernel))
        product = ops.matmul(ops.reshape(x, (-1, kernel.shape[0])), kernel)
        return ops.cast(ops.reshape(product, (*ops.shape(x)[:-1], kernel.shape[1])), "float32")
