"""The contract check of encoder-decoders."""

from typing import Any

import keras
import numpy as np
from keras import ops, tree

from tests.contracts.logits import (
    array,
    check_configuration,
    check_depth_groups,
    check_training_reaches_every_weight,
    compiled,
    in_bfloat16,
    logits_of,
)
from tfattn.features import LOGITS, PADDING_MASK, TARGET_IDS, TARGET_PADDING_MASK, TOKEN_IDS
from tfattn.models.contracts.encoder_decoder import EncoderDecoder

SOURCE_LENGTHS, TARGET_LENGTHS = np.array([7, 4, 2]), np.array([4, 6, 3])
BATCH, SOURCE, TARGET, BEAMS = 3, 7, 6, 3
MAX_LENGTH = 6
START = 1


def check_encoder_decoder(model: EncoderDecoder, *, tolerance: float = 1e-4) -> None:
    """Check the contract of encoder-decoders.

    Args:
        model: a small model, for sources and targets of at least 12 tokens and vocabularies of at least 10. Its weights
            are randomized, so that none of them is 0; it is trained one step at the end.
        tolerance: the maximum difference of logits between two computations in float32.
    """
    draw = np.random.default_rng(0)
    model.set_weights([weight + 0.1 * draw.normal(size=weight.shape).astype("float32") for weight in model.weights])
    features = _features(model, draw)
    close = {"rtol": 0.0, "atol": tolerance}

    _check_shapes(model, features)
    _check_the_future_is_hidden(model, features, close)
    _check_padding_changes_nothing(model, features, close)
    _check_rows_are_independent(model, features, close)
    _check_steps_equal_the_whole(model, features, close)
    _check_beams_equal_rows(model, features, close)
    _check_a_loop_can_carry_the_state(model, features, close)
    check_configuration(model, features)
    check_depth_groups(model)
    # JAX compiles each operation for each type and each gradient: that its layers are right is checked layer by layer.
    if keras.backend.backend() == "tensorflow":
        _check_bfloat16(model, features)
        check_training_reaches_every_weight(model, features)


def _features(model: EncoderDecoder, draw: np.random.Generator) -> dict[str, np.ndarray]:
    real = np.arange(SOURCE) < SOURCE_LENGTHS[:, None]
    target_real = np.arange(TARGET) < TARGET_LENGTHS[:, None]
    token_ids = draw.integers(3, model.vocabulary_size, size=(BATCH, SOURCE))
    target_ids = draw.integers(3, model.target_vocabulary_size, size=(BATCH, TARGET))
    target_ids[:, 0] = START
    return {
        TOKEN_IDS: (token_ids * real).astype("int32"),
        PADDING_MASK: real,
        TARGET_IDS: (target_ids * target_real).astype("int32"),
        TARGET_PADDING_MASK: target_real,
    }


def _check_shapes(model: EncoderDecoder, features: dict) -> None:
    outputs = model(features)
    assert tuple(outputs[LOGITS].shape) == (BATCH, TARGET - 1, model.target_vocabulary_size)
    assert keras.backend.standardize_dtype(outputs[LOGITS].dtype) == "float32"
    memory = model.encode(features)
    assert all(value.shape[0] == BATCH for value in tree.flatten(memory))
    np.testing.assert_array_equal(array(memory[PADDING_MASK]), features[PADDING_MASK])
    assert all(value.shape[0] == BATCH for value in tree.flatten(model.empty_state(memory, MAX_LENGTH)))


def _check_the_future_is_hidden(model: EncoderDecoder, features: dict, close: dict) -> None:
    logits = logits_of(model, features)
    for position in (0, 2, TARGET - 2):
        changed = features[TARGET_IDS].copy()
        changed[:, position + 1 :] = 2
        answer = logits_of(model, {**features, TARGET_IDS: changed})
        np.testing.assert_allclose(answer[:, : position + 1], logits[:, : position + 1], **close)
        changed[:, position] = 2
        answer = logits_of(model, {**features, TARGET_IDS: changed})
        assert np.abs(answer - logits)[0, position].max() > 1e-3, "logits must depend on the token that is read"


def _check_padding_changes_nothing(model: EncoderDecoder, features: dict, close: dict) -> None:
    logits, real = logits_of(model, features), features[TARGET_PADDING_MASK][:, :-1]
    for ids, mask in ((TOKEN_IDS, PADDING_MASK), (TARGET_IDS, TARGET_PADDING_MASK)):
        other = {**features, ids: np.where(features[mask], features[ids], 5)}
        np.testing.assert_allclose(logits_of(model, other)[real], logits[real], **close)
    longer = {name: np.pad(value, [(0, 0), (0, 3)]) for name, value in features.items()}
    np.testing.assert_allclose(logits_of(model, longer)[:, : TARGET - 1][real], logits[real], **close)
    changed = {
        **features,
        TOKEN_IDS: np.where(features[TOKEN_IDS] == features[TOKEN_IDS][0, 0], 2, features[TOKEN_IDS]),
    }
    assert np.abs(logits_of(model, changed) - logits)[0, 0].max() > 1e-3, "logits must depend on the source"


def _check_rows_are_independent(model: EncoderDecoder, features: dict, close: dict) -> None:
    row, logits = 1, logits_of(model, features)
    source, target = SOURCE_LENGTHS[row], TARGET_LENGTHS[row]
    lengths = {TOKEN_IDS: source, PADDING_MASK: source, TARGET_IDS: target, TARGET_PADDING_MASK: target}
    alone = {name: features[name][row : row + 1, :length] for name, length in lengths.items()}
    np.testing.assert_allclose(logits_of(model, alone)[0], logits[row, : target - 1], **close)


def _check_steps_equal_the_whole(model: EncoderDecoder, features: dict, close: dict) -> None:
    memory = model.encode(features)
    state = model.empty_state(memory, MAX_LENGTH)
    logits = logits_of(model, features)
    for index in range(TARGET - 1):
        answer, new_state, alignment = model.step(features[TARGET_IDS][:, index], index, memory, state)
        assert keras.backend.standardize_dtype(answer.dtype) == "float32"
        np.testing.assert_allclose(array(answer), logits[:, index], **close)
        _check_alignment(model, alignment, features[PADDING_MASK])
        tree.assert_same_structure(new_state, state)
        kinds = [[(tuple(x.shape), x.dtype) for x in tree.flatten(each)] for each in (state, new_state)]
        assert kinds[0] == kinds[1]
        state = new_state


def _check_alignment(model: EncoderDecoder, alignment: Any, real: np.ndarray) -> None:
    if not model.aligns:
        assert alignment is None
        return
    alignment = array(alignment)
    assert alignment.shape == real.shape and alignment.dtype == "float32"
    assert (alignment[~real] == 0).all() and (alignment >= 0).all()
    np.testing.assert_allclose(alignment.sum(axis=-1), 1.0, atol=1e-5)


def _check_beams_equal_rows(model: EncoderDecoder, features: dict, close: dict) -> None:
    tokens = np.random.default_rng(1).integers(3, model.target_vocabulary_size, size=(4, BATCH * BEAMS))
    memory = model.encode(features)
    state = model.empty_state(memory, MAX_LENGTH, BEAMS)
    apart = model.encode({name: np.repeat(value, BEAMS, axis=0) for name, value in features.items()})
    state_apart = model.empty_state(apart, MAX_LENGTH)
    for index, token_ids in enumerate(tokens.astype("int32")):
        logits, state, alignment = model.step(token_ids, index, memory, state)
        expected, state_apart, expected_alignment = model.step(token_ids, index, apart, state_apart)
        np.testing.assert_allclose(array(logits), array(expected), **close)
        if model.aligns:
            np.testing.assert_allclose(array(alignment), array(expected_alignment), **close)
        # A search lets some beams go on and drops others.
        beams = np.random.default_rng(index).integers(0, BEAMS, (BATCH, BEAMS)).astype("int32")
        rows = (beams + np.arange(BATCH, dtype="int32")[:, None] * BEAMS).reshape(-1)
        state = model.reorder(state, beams)
        state_apart = tree.map_structure(lambda x, rows=rows: ops.take(x, rows, axis=0), state_apart)


def _check_a_loop_can_carry_the_state(model: EncoderDecoder, features: dict, close: dict) -> None:
    def write(token_ids: Any, padding_mask: Any) -> Any:
        """Return the logits (B, V) after the last of some greedy tokens."""
        memory = model.encode({TOKEN_IDS: token_ids, PADDING_MASK: padding_mask})
        first = ops.full((ops.shape(padding_mask)[0],), START, dtype="int32")

        def one(index: Any, tokens: Any, logits: Any, state: Any) -> tuple:
            logits, state, _ = model.step(tokens, index, memory, state)
            return index + 1, ops.cast(ops.argmax(logits, axis=-1), "int32"), logits, state

        empty = ops.zeros((ops.shape(padding_mask)[0], model.target_vocabulary_size))
        loop = (ops.zeros((), dtype="int32"), first, empty, model.empty_state(memory, MAX_LENGTH))
        return ops.while_loop(lambda index, *_: index < MAX_LENGTH - 1, one, loop)[2]

    target_ids = np.full((BATCH, MAX_LENGTH), START, "int32")
    for position in range(MAX_LENGTH - 1):
        logits = logits_of(model, {**features, TARGET_IDS: target_ids})[:, position]
        target_ids[:, position + 1] = logits.argmax(axis=-1)
    written = compiled(write)(features[TOKEN_IDS], features[PADDING_MASK])
    np.testing.assert_allclose(array(written), logits, **close)


def _check_bfloat16(model: EncoderDecoder, features: dict) -> None:
    half, logits, scale = in_bfloat16(model, features, features[TARGET_PADDING_MASK][:, :-1])
    memory = half.encode(features)
    state = half.empty_state(memory, MAX_LENGTH)
    answer, new_state, alignment = half.step(features[TARGET_IDS][:, 0], 0, memory, state)
    assert keras.backend.standardize_dtype(answer.dtype) == "float32"
    np.testing.assert_allclose(array(answer), logits[:, 0], atol=0.1 * scale)
    _check_alignment(half, alignment, features[PADDING_MASK])
    assert [x.dtype for x in tree.flatten(new_state)] == [x.dtype for x in tree.flatten(state)]
