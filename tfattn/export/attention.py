"""What exports tell of what their models look at, and of what each token contributes."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from tfattn.export.attributions import integrated_gradients
from tfattn.features import SEGMENT_PADDING, SEGMENTS, TARGET_IDS, TOKEN_IDS, TOKEN_VECTORS
from tfattn.models.contracts.attends import Attends
from tfattn.ops.attention_record import CROSS, DECODER, ENCODER

ATTENTION, VECTORS, ATTRIBUTIONS = "attention", "attention_vectors", "attributions"
# Of a sequence: weights grow with its square, for every layer and head, and a server should not die of one request.
MOST_TOKENS = 1024
# Of a request, of all layers and heads: those of 512 tokens in 12 layers of 12 heads, 400 MB as JSON.
MOST_WEIGHTS = 40_000_000
WEIGHTS = "_weights"  # behind the name of a part

Tensors = dict[str, tf.Tensor]


class Shown(NamedTuple):
    """What is shown of a model.

    Attributes:
        model: what attends.
        inputs: as the signatures take them.
        read: the features of inputs, and what is to be known of these, such as `truncated` (B,).
        labels: by features, the labels of their tokens, see `TokenLabels`; where a target is read, too, those of it by
            names that begin with `target_`, and of what is written at each of its tokens with `written_`.
        names: of the scores, where there are any.
        scores_to_explain: the scores (B, C) of features, see `Task.scores_to_explain`.
    """

    model: keras.Model
    inputs: Sequence[tf.TensorSpec]
    read: Callable[..., tuple[Tensors, Tensors]]
    labels: Callable[[Tensors], Tensors]
    names: Sequence[str | bytes] = ()
    scores_to_explain: Callable[[Tensors], tf.Tensor] | None = None


def signatures(shown: Shown) -> dict[str, Any]:
    """Return the signatures that show what a model looks at; none where it does not attend.

        attention          the inputs -> `tokens`, `word_texts` (B, T) string, `words`, `segments` (B, T) int32,
                           `is_special` (B, T) bool, see TokenLabels; at padding `segments` is -1. And of each part of
                           the model its weights, such as `encoder_weights` (B, L, H, T, S) float32
        attention_vectors  the inputs -> of each part whose weights are made of products, its queries and keys, such as
                           `encoder_queries` (B, L, H, T, K) and `encoder_keys` (B, L, H, S, K) float32
        attributions       the inputs -> `attributions` (B, T) float32, what each token contributes to the highest
                           score, see `integrated_gradients`; `score` and `baseline_score` (B,), that score and the one
                           of no tokens; `scored` (B,) string, what it is the score of

    Longer sequences than MOST_TOKENS are refused, and requests for more than MOST_WEIGHTS weights.

    Args:
        shown: of one model.
    """
    model = shown.model
    if not isinstance(model, Attends):
        return {}
    # One trace for both signatures that need it.
    look = tf.function(lambda features: _told(model.attention(features)), autograph=False, reduce_retracing=True)

    def attention(*inputs: tf.Tensor) -> Tensors:
        features, about = _read(shown, inputs)
        said = f"attention is shown of at most {MOST_WEIGHTS:,} weights: ask for fewer or shorter texts"
        count = _num_weights(look.get_concrete_function(features).structured_outputs, features)
        # Before any is computed, since they may need more memory than there is.
        with tf.control_dependencies([tf.debugging.assert_less_equal(count, tf.cast(MOST_WEIGHTS, tf.int64), said)]):
            features = {name: tf.identity(value) for name, value in features.items()}
        weights = {name: value for name, value in look(features).items() if name.endswith(WEIGHTS)}
        return {**shown.labels(features), **about, **weights}

    def vectors(*inputs: tf.Tensor) -> Tensors:
        told = look(_read(shown, inputs)[0])
        return {name: value for name, value in told.items() if not name.endswith(WEIGHTS)}

    def attributions(*inputs: tf.Tensor) -> Tensors:
        return _attributed(shown, _read(shown, inputs)[0])

    functions = {ATTENTION: attention}
    functions |= {VECTORS: vectors} if model.has_vectors else {}
    functions |= {ATTRIBUTIONS: attributions} if shown.names else {}
    return {
        name: tf.function(function, input_signature=list(shown.inputs), autograph=False)
        for name, function in functions.items()
    }


def with_segments(labels: Tensors, segments: tf.Tensor, padding_mask: tf.Tensor, *, prefix: str = "") -> Tensors:
    """Add to the labels of tokens of which text each is, -1 at padding, and name them all with a prefix."""
    segments = tf.where(padding_mask, tf.cast(segments, tf.int32), SEGMENT_PADDING)
    return {f"{prefix}{name}": value for name, value in {**labels, SEGMENTS: segments}.items()}


def _read(shown: Shown, inputs: Sequence[tf.Tensor]) -> tuple[Tensors, Tensors]:
    features, about = shown.read(*inputs)
    said = f"attention is shown of at most {MOST_TOKENS} tokens"
    checks = [
        tf.debugging.assert_less_equal(tf.shape(features[name])[1], MOST_TOKENS, said)
        for name in (TOKEN_IDS, TARGET_IDS)
        if name in features
    ]
    with tf.control_dependencies(checks):
        return {name: tf.identity(value) for name, value in features.items()}, about


def _num_weights(told: Tensors, features: Tensors) -> tf.Tensor:
    """Count the weights (B, L, H, T, S) of all parts by the lengths of what is read."""
    source = next((name for name in (TOKEN_IDS, TARGET_IDS) if name in features), None)  # a table has neither
    target = TARGET_IDS if TARGET_IDS in features else source
    of_a_row = []
    for part, sequences in {ENCODER: (source, source), DECODER: (target, target), CROSS: (target, source)}.items():
        if part + WEIGHTS in told:
            _, layers, heads, *lengths = told[part + WEIGHTS].shape
            pairs = zip(lengths, sequences, strict=True)
            read = [length or tf.shape(features[name], tf.int64)[1] for length, name in pairs]
            of_a_row.append(layers * heads * math.prod(read))
    return tf.shape(next(iter(features.values())), tf.int64)[0] * sum(of_a_row)


def _told(attention: dict[str, Any]) -> Tensors:
    parts = ((part, one._asdict()) for part, one in attention.items())
    return {f"{part}_{name}": value for part, told in parts for name, value in told.items() if value is not None}


def _attributed(shown: Shown, features: Tensors) -> Tensors:
    own = shown.model.token_vectors(features)
    scores = tf.function(
        lambda vectors: shown.scores_to_explain({**features, TOKEN_VECTORS: vectors}),
        input_signature=[tf.TensorSpec([None, None, own.shape[-1]], own.dtype)],
        autograph=False,
    )
    of_all = scores(own)
    best = tf.argmax(of_all, axis=-1, output_type=tf.int32)
    found, baseline = integrated_gradients(lambda vectors: tf.gather(scores(vectors), best, batch_dims=1), own)
    return {
        "attributions": found,
        "score": tf.gather(of_all, best, batch_dims=1),
        "baseline_score": baseline,
        "scored": tf.gather(tf.constant([*shown.names]), best),
    }
