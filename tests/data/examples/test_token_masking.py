"""Masking: the masked tokens, their replacements, and the targets."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.data.examples.token_masking import TokenMasking, _by_words
from tfattn.data.examples.transforms import epoch_key, seeds_of

PAD, START, END, MASK = 0, 1, 2, 3
VOCABULARY = 1000
ROWS, LENGTH = 200, 60


def masking(**options):
    return TokenMasking(mask_id=MASK, special_ids=[PAD, START, END, MASK], vocabulary_size=VOCABULARY, **options)


def rows(lengths):
    """A start, ordinary tokens, an end, then padding."""
    random, width = np.random.default_rng(0), max(lengths)
    token_ids = np.zeros((len(lengths), width), "int32")
    for row, length in enumerate(lengths):
        token_ids[row, :length] = [START, *random.integers(4, VOCABULARY, length - 2), END]
    return {"token_ids": tf.constant(token_ids), "padding_mask": tf.sequence_mask(lengths, width)}


def masked(batch, *, epoch=0, **options):
    seeds = seeds_of(tf.range(len(batch["token_ids"])), epoch_key(seed=5, epoch=epoch))
    return {name: value.numpy() for name, value in masking(**options)(batch, seeds).items()}


@pytest.fixture(scope="module")
def many():
    batch = rows([LENGTH] * ROWS)
    return batch["token_ids"].numpy(), masked(batch)


def test_predictions_are_the_original_tokens_and_others_are_unchanged(many):
    before, after = many
    places = np.zeros(before.shape, bool)
    for row in range(ROWS):
        told = after["masked_lm_weights"][row] == 1
        positions = after["masked_lm_positions"][row][told]
        assert len(set(positions)) == told.sum() == round(0.15 * LENGTH)
        assert (np.diff(positions) > 0).all()
        np.testing.assert_array_equal(after["masked_lm_ids"][row][told], before[row, positions])
        places[row, positions] = True
    np.testing.assert_array_equal(after["token_ids"][~places], before[~places])
    assert not places[:, [0, -1]].any(), "special tokens are left alone"
    assert places.sum(axis=0)[1:-1].min() > 0.5 * places.sum() / (LENGTH - 2), "every place has its turn"


def test_masking_is_80_percent_mask_10_random_10_unchanged(many):
    before, after = many
    new = np.take_along_axis(after["token_ids"], after["masked_lm_positions"], axis=1)
    old, count = after["masked_lm_ids"], after["masked_lm_ids"].size
    deviation = np.sqrt(0.16 / count)
    is_mask, stays = new == MASK, new == old
    assert abs(is_mask.mean() - 0.8) < 3.5 * deviation
    assert abs(stays.mean() - 0.1) < 3.5 * deviation
    others = new[~is_mask & ~stays]
    assert others.min() >= 4 and len(set(others)) > 0.8 * len(others), "random ones are ordinary ones"


def test_short_rows_and_rows_of_special_tokens():
    batch = rows([20, 3, 2])
    after = masked(batch)
    assert after["masked_lm_weights"].shape == (3, 3)
    assert after["masked_lm_weights"].sum(axis=1).tolist() == [3, 1, 0]
    assert after["masked_lm_positions"][1].tolist() == [1, 0, 0]
    assert after["masked_lm_ids"][2].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(after["token_ids"][2], batch["token_ids"][2])


def test_no_more_than_the_limit_are_masked():
    after = masked(rows([20, 3, 12]), masked_lm_prob=0.5, max_predictions_per_seq=4)
    assert after["masked_lm_weights"].sum(axis=1).tolist() == [4, 1, 4]


def test_padding_changes_nothing_and_epochs_differ():
    batch = rows([40] * 9)
    wider = {name: tf.pad(value, [[0, 0], [0, 30]]) for name, value in batch.items()}
    narrow, wide = masked(batch), masked(wider)
    np.testing.assert_array_equal(wide["token_ids"][:, :40], narrow["token_ids"])
    told = narrow["masked_lm_positions"].shape[1]
    np.testing.assert_array_equal(wide["masked_lm_positions"][:, :told], narrow["masked_lm_positions"])
    assert wide["masked_lm_weights"][:, told:].sum() == 0
    assert (masked(batch, epoch=1)["masked_lm_positions"] != narrow["masked_lm_positions"]).any()


def test_all_pieces_of_a_word_are_masked_or_none():
    continuing = list(range(500, VOCABULARY))
    batch = rows([LENGTH] * ROWS)
    before, after = batch["token_ids"].numpy(), masked(batch, continuing_ids=continuing)
    hidden = np.zeros(before.shape, bool)
    for row in range(ROWS):
        hidden[row, after["masked_lm_positions"][row][after["masked_lm_weights"][row] == 1]] = True
    ordinary = before > MASK
    joined = ordinary[:, 1:] & ordinary[:, :-1] & np.isin(before[:, 1:], continuing)
    np.testing.assert_array_equal(hidden[:, 1:][joined], hidden[:, :-1][joined])
    told = hidden.sum(axis=1)
    assert told.max() == round(0.15 * LENGTH) and told.mean() > 0.85 * told.max()
    assert not hidden[~ordinary].any()


def test_words_are_chosen_as_in_googles_tool():
    """Compare with the loop of `create_masked_lm_predictions`: a word that does not fit is left out, the others not."""
    random = np.random.default_rng(2)
    continues = random.random((40, 30)) < 0.6
    may_be_chosen = random.random((40, 30)) < 0.9
    order = random.random((40, 30)).astype("float32")
    wanted = random.integers(1, 12, 40).astype("int32")
    _, taken = _by_words(*map(tf.constant, (order, may_be_chosen, continues, wanted)))
    for row in range(40):
        words = []
        for place in np.flatnonzero(may_be_chosen[row]):
            if words and continues[row, place] and words[-1][-1] == place - 1:
                words[-1].append(place)
            else:
                words.append([place])
        expected = []
        for _, word in sorted(zip(order[row], words, strict=False)):
            if len(expected) + len(word) <= wanted[row]:
                expected += word
        assert np.flatnonzero(taken[row]).tolist() == sorted(expected)


def test_a_too_long_word_is_replaced_by_others():
    token_ids = tf.constant([[START, 10, 501, 502, 503, 504, 11, END]] * 50)
    batch = {"token_ids": token_ids, "padding_mask": tf.ones_like(token_ids, tf.bool)}
    after = masked(batch, continuing_ids=list(range(500, 600)), masked_lm_prob=0.2)
    assert set(after["masked_lm_positions"][after["masked_lm_weights"] == 1]) == {6}


def test_special_tokens_separate_words():
    token_ids = tf.constant([[START, 10, END, 501, END]] * 50)
    batch = {"token_ids": token_ids, "padding_mask": tf.ones_like(token_ids, tf.bool)}
    after = masked(batch, continuing_ids=[501], masked_lm_prob=0.2)
    assert set(after["masked_lm_positions"][after["masked_lm_weights"] == 1]) == {1, 3}
