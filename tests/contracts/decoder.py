"""The contract check of decoders."""

from typing import Any

import keras
import numpy as np
from keras import ops, tree

from tests.contracts.logits import (
    array,
    at_once,
    check_configuration,
    check_depth_groups,
    check_training_reaches_every_weight,
    compiled,
    in_bfloat16,
    logits_of,
)
from tfattn.features import LOGITS, PADDING_MASK, SEQUENCE_IDS, TOKEN_IDS
from tfattn.models.contracts.decoder import Decoder

LENGTHS = np.array([7, 4, 2])
BATCH, LENGTH = 3, 7


def check_decoder(model: Decoder, *, tolerance: float = 1e-4) -> None:
    """Check the contract of decoders.

    Args:
        model: a small model, for texts of at least 12 tokens and a vocabulary of at least 10. Its weights are
            randomized, so that none of them is 0; it is trained one step at the end.
        tolerance: the maximum difference of logits between two computations in float32.
    """
    draw = np.random.default_rng(0)
    model.set_weights([weight + 0.1 * draw.normal(size=weight.shape).astype("float32") for weight in model.weights])
    real = np.arange(LENGTH) < LENGTHS[:, None]
    token_ids = (draw.integers(1, model.vocabulary_size, size=(BATCH, LENGTH)) * real).astype("int32")
    features = {TOKEN_IDS: token_ids, PADDING_MASK: real}
    close = {"rtol": 0.0, "atol": tolerance}

    _check_shapes(model, features)
    _check_the_future_is_hidden(model, features, close)
    _check_rows_are_independent(model, features, close)
    _check_packed_texts_are_apart(model, features, close)
    _check_reading_equals_the_whole(model, features, close)
    _check_padding_changes_nothing(model, features, close)
    _check_what_is_dropped_was_never_read(model, features, close)
    _check_a_loop_can_carry_the_cache(model, features, close)
    check_configuration(model, features)
    check_depth_groups(model)
    # JAX compiles each operation for each type and each gradient: that its layers are right is checked layer by layer.
    if keras.backend.backend() == "tensorflow":
        _check_bfloat16(model, features)
        check_training_reaches_every_weight(model, features)


def _check_shapes(model: Decoder, features: dict) -> None:
    logits = model(features)[LOGITS]
    assert tuple(logits.shape) == (BATCH, LENGTH, model.vocabulary_size)
    after, cache = model.prefill(features[TOKEN_IDS], features[PADDING_MASK])
    assert tuple(after.shape) == (BATCH, model.vocabulary_size)
    assert keras.backend.standardize_dtype(after.dtype) == "float32"
    assert all(x.shape[0] == BATCH for x in tree.flatten(cache))
    np.testing.assert_array_equal(array(cache.lengths), LENGTHS)


def _check_the_future_is_hidden(model: Decoder, features: dict, close: dict) -> None:
    logits = logits_of(model, features)
    for position in (0, 2, LENGTH - 2):
        changed = features[TOKEN_IDS].copy()
        changed[:, position + 1 :] = 2
        other = logits_of(model, {**features, TOKEN_IDS: changed})
        np.testing.assert_allclose(other[:, : position + 1], logits[:, : position + 1], **close)
        changed[:, position] = changed[:, position] % (model.vocabulary_size - 1) + 1
        other = logits_of(model, {**features, TOKEN_IDS: changed})
        assert np.abs(other - logits)[0, position].max() > 1e-3, "logits must depend on the token that is read"


def _check_rows_are_independent(model: Decoder, features: dict, close: dict) -> None:
    logits = logits_of(model, features)
    for row, length in enumerate(LENGTHS):
        alone = logits_of(model, {name: value[row : row + 1, :length] for name, value in features.items()})
        np.testing.assert_allclose(alone[0], logits[row, :length], **close)


def _check_packed_texts_are_apart(model: Decoder, features: dict, close: dict) -> None:
    logits, token_ids = logits_of(model, features), features[TOKEN_IDS]
    packed = np.concatenate([row[:length] for row, length in zip(token_ids, LENGTHS, strict=True)])[None]
    numbers = np.repeat([1, 2, 3], LENGTHS)[None].astype("int32")
    together = logits_of(model, {TOKEN_IDS: packed[:, :12], SEQUENCE_IDS: numbers[:, :12]})[0]
    expected = np.concatenate([row[:length] for row, length in zip(logits, LENGTHS, strict=True)])[:12]
    np.testing.assert_allclose(together, expected, **close)


def _check_reading_equals_the_whole(model: Decoder, features: dict, close: dict) -> None:
    """Check reading in pieces of any size, with caches that are merged in between."""
    token_ids, logits = features[TOKEN_IDS][:1], logits_of(model, features)[:1]
    several = [[3, 1, 3]]
    if keras.backend.backend() == "tensorflow":  # JAX compiles each size anew
        several += [[LENGTH], [1] * LENGTH, [2, 5]]
    for sizes in several:
        cache, begin = model.empty_cache(1), 0
        for number, size in enumerate(sizes):
            x, cache = at_once(model.read)(token_ids[:, begin : begin + size], cache)
            np.testing.assert_allclose(array(model.next_logits(x)), logits[:, begin : begin + size], **close)
            cache = cache.merged(2) if number % 2 else cache
            begin += size
        assert int(cache.lengths[0]) == LENGTH


def _check_padding_changes_nothing(model: Decoder, features: dict, close: dict) -> None:
    """Check that prompts of different lengths in a batch, and their continuations, equal single prompts."""
    more = np.array([[5, 3], [2, 2], [4, 9]], "int32")
    after, cache = at_once(model.prefill)(features[TOKEN_IDS], features[PADDING_MASK])
    cache = cache.merged(2)
    steps = [after]
    for column in more.T:
        logits, cache = at_once(model.step)(column, cache)
        steps.append(logits)
    for row, length in enumerate(LENGTHS):
        whole = np.concatenate([features[TOKEN_IDS][row, :length], more[row]])[None]
        expected = logits_of(model, {TOKEN_IDS: whole})[0, length - 1 :]
        np.testing.assert_allclose(np.stack([array(step)[row] for step in steps]), expected, **close)


def _check_what_is_dropped_was_never_read(model: Decoder, features: dict, close: dict) -> None:
    """Check that dropped tokens, such as rejected drafts, leave no trace."""
    token_ids = features[TOKEN_IDS][:1]
    read = at_once(model.read)
    _, cache = read(token_ids[:, :4], model.empty_cache(1))
    _, draft = read(token_ids[:, 4:6] * 0 + 9, cache)
    x, _ = read(token_ids[:, 4:], draft.drop_last(np.array([2], "int32")))
    np.testing.assert_allclose(array(model.next_logits(x)), logits_of(model, features)[:1, 4:], **close)


def _check_a_loop_can_carry_the_cache(model: Decoder, features: dict, close: dict) -> None:
    def write(token_ids: Any, padding_mask: Any) -> Any:
        """Return the logits (B, V) after three greedy tokens."""
        logits, cache = model.prefill(token_ids, padding_mask)

        def one(index: Any, logits: Any, cache: Any) -> tuple:
            logits, cache = model.step(ops.cast(ops.argmax(logits, axis=-1), "int32"), cache)
            return index + 1, logits, cache

        loop = (ops.zeros((), dtype="int32"), logits, cache.merged(3))
        return ops.while_loop(lambda index, *_: index < 3, one, loop)[1]

    written = array(compiled(write)(features[TOKEN_IDS], features[PADDING_MASK]))
    for row, length in enumerate(LENGTHS):
        text = features[TOKEN_IDS][row : row + 1, :length]
        for _ in range(3):
            text = np.concatenate([text, logits_of(model, {TOKEN_IDS: text})[:, -1:].argmax(-1)], axis=1).astype(
                "int32"
            )
        np.testing.assert_allclose(written[row], logits_of(model, {TOKEN_IDS: text})[0, -1], **close)


def _check_bfloat16(model: Decoder, features: dict) -> None:
    half, logits, scale = in_bfloat16(model, features, features[PADDING_MASK])
    after, cache = half.prefill(features[TOKEN_IDS], features[PADDING_MASK])
    assert keras.backend.standardize_dtype(after.dtype) == "float32"
    np.testing.assert_allclose(array(after)[0], logits[0, -1], atol=0.1 * scale)
    assert {keras.backend.standardize_dtype(x.dtype) for x in tree.flatten(cache.recent)} == {"bfloat16"}
