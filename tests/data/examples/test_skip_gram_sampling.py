"""Skip-gram sampling follows the published formulas, and depends on the record alone."""

import math

import numpy as np
import pytest
import tensorflow as tf

from tfattn.data.examples.skip_gram_sampling import SkipGramSampling, alias_table, context_positions, keep_probabilities
from tfattn.data.examples.transforms import epoch_key, seeds_of
from tfattn.data.splitmix64 import integers

COUNTS = np.array([400, 100, 50, 10, 1])
MANY = 20_000


def test_frequent_words_are_kept_with_the_published_probability():
    # 400 of 561 are the fraction z = 0.713; of it (sqrt(z / 0.01) + 1) * 0.01 / z are kept.
    z = 400 / 561
    assert keep_probabilities(COUNTS, 0.01)[0] == pytest.approx((math.sqrt(z / 0.01) + 1) * 0.01 / z, rel=1e-6)
    assert keep_probabilities([1] * 1000, 1e-3).tolist() == [1.0] * 1000  # just as frequent as the threshold


@pytest.mark.parametrize("weights", [[3, 1], [5, 4, 3, 2, 1], [1, 1, 1], [7], [1e-6, 1, 1000]])
def test_alias_tables_sample_by_weight(weights):
    thresholds, aliases = alias_table(np.array(weights, float))
    found = thresholds.astype(float)
    for index, alias in enumerate(aliases.tolist()):
        if alias != index:
            found[alias] += 1 - thresholds[index]
    np.testing.assert_allclose(found / len(weights), np.array(weights) / np.sum(weights), atol=1e-6)


def sample_pairs(records, *, epoch=0, seed=7, **options):
    sampling = SkipGramSampling(COUNTS, **{"window": 5, "sample": None, "noise_power": 0.75, **options})
    records = tf.constant(records)
    width = MANY // len(records)
    words = tf.reshape(tf.repeat(tf.range(5), MANY // 5), [len(records), width])
    batch = {"token_ids": words, "sequence_ids": tf.ones_like(words), "padding_mask": tf.ones_like(words, tf.bool)}
    return sampling(batch, seeds_of(records, epoch_key(seed=seed, epoch=epoch)))


def test_windows_are_uniform_and_negatives_follow_powers_of_counts():
    found = sample_pairs([3])
    for side in ("words_before", "words_after"):
        windows = np.bincount(found[side][0], minlength=6) / MANY
        np.testing.assert_allclose(windows, [0] + [0.2] * 5, atol=4 * math.sqrt(0.2 * 0.8 / MANY))
    assert found["words_before"][0, :2].numpy().tolist() == [0, 1] and found["words_after"][0, -1] == 0
    expected = COUNTS**0.75 / (COUNTS**0.75).sum()
    negatives = np.bincount(found["noise_ids"][0], minlength=5) / (MANY / 2)
    assert found["noise_ids"].shape == (1, MANY // 2)
    assert (np.abs(negatives - expected) < 4 * np.sqrt(expected * (1 - expected) / (MANY / 2)) + 1e-9).all()


def test_windows_end_with_texts():
    before, after = context_positions(tf.constant([[1, 1, 1, 2, 2], [1, 2, 3, 3, 0]]))
    assert before.numpy().tolist() == [[0, 1, 2, 0, 1], [0, 0, 0, 1, 0]]
    assert after.numpy().tolist() == [[2, 1, 0, 1, 0], [0, 0, 1, 0, 0]]


def test_subsampling_leaves_no_gap():
    found, fractions = sample_pairs([3], sample=0.01), keep_probabilities(COUNTS, 0.01)
    count = np.bincount(found["token_ids"][0], minlength=5) / (MANY / 5)
    assert (np.abs(count - fractions) < 4 * np.sqrt(fractions * (1 - fractions) / (MANY / 5)) + 1e-9).all()
    assert found["padding_mask"].numpy().all() and found["words_before"].shape == found["token_ids"].shape


def test_samples_depend_on_seed_epoch_and_record_alone():
    alone, together = sample_pairs([9], sample=0.1), sample_pairs([4, 9], sample=0.1)
    half = together["words_before"].shape[1]
    assert alone["words_before"][0, :half].numpy().tolist() == together["words_before"][1].numpy().tolist()
    for other in (sample_pairs([9], epoch=1), sample_pairs([9], seed=8), sample_pairs([8])):
        assert other["words_before"].numpy().tolist() != sample_pairs([9])["words_before"].numpy().tolist()


def test_integers_are_uniform_below_their_bound():
    found = integers(seeds_of(tf.constant([1]), epoch_key(seed=1, epoch=0)), MANY, below=7)
    np.testing.assert_allclose(np.bincount(found[0], minlength=7) / MANY, [1 / 7] * 7, atol=4 * math.sqrt(0.13 / MANY))
    found = integers(seeds_of(tf.constant([1]), epoch_key(seed=1, epoch=0)), MANY, below=2**31)
    assert int(tf.reduce_max(found)) > 2**30
