"""Signatures of exports that return attention weights and token attributions."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from tfattn.features import SEGMENT_PADDING, SEGMENTS, TARGET_IDS, TOKEN_IDS, TOKEN_VECTORS
from tfattn.models.contracts.attends import Attends
from tfattn.ops.attention_record import CROSS, DECODER, ENCODER

ATTENTION, VECTORS, ATTRIBUTIONS = "attention", "attention_vectors", "attributions"
# Of a sequence: the number of weights is quadratic in its length, per layer and head; this bounds memory per request.
MAX_TOKENS = 1024
# Of a request, over all layers and heads: 512 tokens with 12 layers of 12 heads, 400 MB as JSON.
MAX_WEIGHTS = 40_000_000
NUM_STEPS = 32  # of the integral of gradients
WEIGHTS = "_weights"  # suffix to the name of a part

Tensors = dict[str, tf.Tensor]


class AttentionSpec(NamedTuple):
    """A model and its inputs, for the attention signatures.

    Attributes:
        model: the model.
        inputs: the input signature.
        read: converts inputs to features and outputs that describe the inputs, such as `truncated` (B,).
        labels: returns the labels of the tokens of features, see `TokenLabels`. Labels of a target start with
            `target_`, labels of the output token at each target position with `written_`.
        names: the names of the scores, if the model has scores.
        scores_to_explain: returns scores (B, C) of features; the highest is explained; see `Task.scores_to_explain`.
    """

    model: keras.Model
    inputs: Sequence[tf.TensorSpec]
    read: Callable[..., tuple[Tensors, Tensors]]
    labels: Callable[[Tensors], Tensors]
    names: Sequence[str | bytes] = ()
    scores_to_explain: Callable[[Tensors], tf.Tensor] | None = None


def signatures(spec: AttentionSpec) -> dict[str, Any]:
    """Return the attention signatures of a model; none if the model has no attention.

        attention          inputs -> `tokens`, `word_texts` (B, T) string, `words`, `segments` (B, T) int32,
                           `is_special` (B, T) bool, see TokenLabels; `segments` is -1 at padding. And the weights of
                           each part of the model, such as `encoder_weights` (B, L, H, T, S) float32
        attention_vectors  inputs -> queries and keys of each part with dot-product attention, such as `encoder_queries`
                           (B, L, H, T, K) and `encoder_keys` (B, L, H, S, K) float32
        attributions       inputs -> `attributions` (B, T) float32 of the tokens to the highest score, see
                           `integrated_gradients`; `score` and `baseline_score` (B,), the score of the tokens and of
                           zero vectors; `scored` (B,) string, the name of the score

    Sequences longer than MAX_TOKENS and requests for more than MAX_WEIGHTS weights are errors.

    Args:
        spec: the model and its inputs.
    """
    model = spec.model
    if not isinstance(model, Attends):
        return {}
    # Both signatures share one trace.
    look = tf.function(lambda features: _flatten(model.attention(features)), autograph=False, reduce_retracing=True)

    def attention(*inputs: tf.Tensor) -> Tensors:
        features, notes = _read(spec, inputs)
        message = f"attention has at most {MAX_WEIGHTS:,} weights per request: send fewer or shorter texts"
        count = _num_weights(look.get_concrete_function(features).structured_outputs, features)
        # Check before computing weights, which may not fit into memory.
        with tf.control_dependencies([tf.debugging.assert_less_equal(count, tf.cast(MAX_WEIGHTS, tf.int64), message)]):
            features = {name: tf.identity(value) for name, value in features.items()}
        weights = {name: value for name, value in look(features).items() if name.endswith(WEIGHTS)}
        return {**spec.labels(features), **notes, **weights}

    def vectors(*inputs: tf.Tensor) -> Tensors:
        outputs = look(_read(spec, inputs)[0])
        return {name: value for name, value in outputs.items() if not name.endswith(WEIGHTS)}

    def attributions(*inputs: tf.Tensor) -> Tensors:
        return _attributions(spec, _read(spec, inputs)[0])

    functions = {ATTENTION: attention}
    functions |= {VECTORS: vectors} if model.has_vectors else {}
    functions |= {ATTRIBUTIONS: attributions} if spec.names else {}
    return {
        name: tf.function(function, input_signature=list(spec.inputs), autograph=False)
        for name, function in functions.items()
    }


def add_segments(labels: Tensors, segments: tf.Tensor, padding_mask: tf.Tensor, *, prefix: str = "") -> Tensors:
    """Add the segment of each token to its labels, -1 at padding, and add a prefix to all names."""
    segments = tf.where(padding_mask, tf.cast(segments, tf.int32), SEGMENT_PADDING)
    return {f"{prefix}{name}": value for name, value in {**labels, SEGMENTS: segments}.items()}


def _read(spec: AttentionSpec, inputs: Sequence[tf.Tensor]) -> tuple[Tensors, Tensors]:
    features, notes = spec.read(*inputs)
    message = f"attention has at most {MAX_TOKENS} tokens per sequence"
    checks = [
        tf.debugging.assert_less_equal(tf.shape(features[name])[1], MAX_TOKENS, message)
        for name in (TOKEN_IDS, TARGET_IDS)
        if name in features
    ]
    with tf.control_dependencies(checks):
        return {name: tf.identity(value) for name, value in features.items()}, notes


def _num_weights(outputs: Tensors, features: Tensors) -> tf.Tensor:
    """Count the weights (B, L, H, T, S) of all parts by the lengths of what is read."""
    source = next((name for name in (TOKEN_IDS, TARGET_IDS) if name in features), None)  # a table has none of them
    target = TARGET_IDS if TARGET_IDS in features else source
    row_counts = []
    for part, sequences in {ENCODER: (source, source), DECODER: (target, target), CROSS: (target, source)}.items():
        if part + WEIGHTS in outputs:
            _, layers, heads, *lengths = outputs[part + WEIGHTS].shape
            pairs = zip(lengths, sequences, strict=True)
            read = [length or tf.shape(features[name], tf.int64)[1] for length, name in pairs]
            row_counts.append(layers * heads * math.prod(read))
    return tf.shape(next(iter(features.values())), tf.int64)[0] * sum(row_counts)


def _flatten(attention: dict[str, Any]) -> Tensors:
    parts = ((part, record._asdict()) for part, record in attention.items())
    return {f"{part}_{name}": value for part, record in parts for name, value in record.items() if value is not None}


def _attributions(spec: AttentionSpec, features: Tensors) -> Tensors:
    vectors = spec.model.token_vectors(features)
    scores = tf.function(
        lambda x: spec.scores_to_explain({**features, TOKEN_VECTORS: x}),
        input_signature=[tf.TensorSpec([None, None, vectors.shape[-1]], vectors.dtype)],
        autograph=False,
    )
    all_scores = scores(vectors)
    best = tf.argmax(all_scores, axis=-1, output_type=tf.int32)
    found, baseline = integrated_gradients(lambda x: tf.gather(scores(x), best, batch_dims=1), vectors)
    return {
        "attributions": found,
        "score": tf.gather(all_scores, best, batch_dims=1),
        "baseline_score": baseline,
        "scored": tf.gather(tf.constant([*spec.names]), best),
    }


def integrated_gradients(
    score: Callable[[tf.Tensor], tf.Tensor], vectors: tf.Tensor, *, num_steps: int = NUM_STEPS
) -> tuple[tf.Tensor, tf.Tensor]:
    """Compute the attributions of tokens to a score by integrated gradients with a baseline of zero vectors.

    The integral is approximated by the midpoint rule. With enough steps, the attributions of a row sum to its score
    minus its baseline score (completeness).

    Args:
        score: returns scores (B,) of vectors (B, T, D).
        vectors: (B, T, D), the token vectors.
        num_steps: number of steps of the integral.

    Returns:
        attributions (B, T) float32, and baseline scores (B,).

    Example:
        >>> weights = tf.constant([1.0, -2.0])
        >>> integrated_gradients(lambda x: tf.reduce_sum(x * weights, axis=[1, 2]), tf.ones([1, 3, 2]))[0].numpy()
        array([[-1., -1., -1.]], dtype=float32)

    Source: Sundararajan et al. 2017, "Axiomatic attribution for deep networks", eq. 1 and 3; zero vectors as the
    baseline for texts: section 6.3.
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
