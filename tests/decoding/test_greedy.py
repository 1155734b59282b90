"""Greedy decoding: the most likely tokens, independent rows, and graphs of any shape."""

import numpy as np
import pytest
from keras import ops

from tests.decoding.chains import END, START, Recurrent, markov, numbers, only_tensorflow, texts
from tfattn.decoding.greedy import greedy

pytestmark = pytest.mark.every_backend

#                 padding end  start  3    4
TABLE = np.array(
    [
        [0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.1, 0.0, 0.6, 0.3],  # start
        [0.0, 0.2, 0.0, 0.3, 0.5],  # 3
        [0.0, 0.9, 0.0, 0.1, 0.0],  # 4
    ]
)
OPTIONS = {"end_id": END, "max_length": 6, "suppressed_ids": (0, START)}


def test_takes_the_most_likely_token():
    decoded = greedy(markov(TABLE), (), start_ids=[START, 4, END], **OPTIONS)
    assert texts(decoded) == [[3, 4], [], []]
    # ln(0.6 x 0.5 x 0.9), ln 0.9 and ln 1: the end counts.
    np.testing.assert_allclose(ops.convert_to_numpy(decoded.scores), np.log([0.27, 0.9, 1.0]), atol=1e-6)
    assert decoded.alignment is None


def test_takes_the_most_likely_token_given_a_longer_memory():
    model = Recurrent(20, seed=0)
    sources = model.sources(8)
    decoded = numbers(greedy(model.cached, {"hidden": sources}, start_ids=[START] * 8, **OPTIONS))
    for source, tokens, score in zip(sources, texts(decoded), decoded.scores, strict=True):
        written, expected = [], 0.0
        while len(written) < 6:
            log_probabilities = model.log_probabilities(source, written)
            best = max(set(range(20)) - {0, START}, key=lambda token: log_probabilities[token])
            expected += log_probabilities[best]
            if best == END:
                break
            written.append(best)
        assert tokens == written
        np.testing.assert_allclose(score, expected, rtol=1e-5)


def test_cached_equals_uncached():
    model = Recurrent(20, seed=1)
    sources = model.sources(8)
    cached = numbers(greedy(model.cached, {"hidden": sources}, start_ids=[START] * 8, **OPTIONS))
    state = (sources, np.zeros((8, 6), "int32"))
    uncached = numbers(greedy(model.uncached, state, start_ids=[START] * 8, **OPTIONS))
    np.testing.assert_array_equal(cached.token_ids, uncached.token_ids)
    np.testing.assert_allclose(cached.scores, uncached.scores, rtol=1e-5)


def test_a_batch_of_one_equals_a_batch_of_many():
    model = Recurrent(6, seed=2)
    sources = model.sources(12)
    many = numbers(greedy(model.cached, {"hidden": sources}, start_ids=[START] * 12, **OPTIONS))
    assert len(set(many.lengths.tolist())) > 2, "rows end at different steps"
    for row in range(0, 12, 3):
        one = numbers(greedy(model.cached, {"hidden": sources[row : row + 1]}, start_ids=[START], **OPTIONS))
        np.testing.assert_array_equal(one.token_ids[0], many.token_ids[row])
        np.testing.assert_allclose(one.scores[0], many.scores[row], rtol=1e-6)


@only_tensorflow
def test_the_loop_ends_with_the_last_row():
    calls = []

    def counted(token_ids, index, state):
        calls.append(int(index))
        return markov(TABLE)(token_ids, index, state)

    greedy(counted, (), start_ids=[START, 4], **OPTIONS)
    assert calls == [0, 1, 2]


def test_limits_cut_each_row_separately():
    endless = np.zeros((5, 5))
    endless[:, 4] = 0.75
    endless[:, 1] = 0.25
    decoded = numbers(greedy(markov(endless), (), start_ids=[START] * 3, length_limit=[2, 9, 0], **OPTIONS))
    assert texts(decoded) == [[4, 4], [4] * 6, []]
    np.testing.assert_allclose(decoded.scores, np.log(0.75) * np.array([2, 6, 0]), rtol=1e-5)
    assert texts(greedy(markov(endless), (), start_ids=[START] * 2, length_limit=3, **OPTIONS)) == [[4] * 3] * 2


def test_suppressed_tokens_are_never_generated_but_keep_their_probability():
    greedily = np.full((5, 5), 0.1)
    greedily[:, 0] = 0.6
    greedily[:, 4] = 0.15
    decoded = numbers(greedy(markov(greedily), (), start_ids=[START], **OPTIONS))
    assert texts(decoded) == [[4] * 6]
    # Probabilities of 0.6 + 3 x 0.1 + 0.15 = 1.05.
    np.testing.assert_allclose(decoded.scores, 6 * np.log(0.15 / 1.05), rtol=1e-5)


def test_alignments_are_returned_for_each_token():
    # A token is aligned with the place that has the number of the token before it.
    model = Recurrent(7, seed=3)
    decoded = numbers(
        greedy(model.cached, {"hidden": model.sources(4)}, start_ids=[START] * 4, source_length=7, **OPTIONS)
    )
    assert decoded.alignment.shape == (4, 6, 7)
    for tokens, alignment in zip(texts(decoded), decoded.alignment, strict=True):
        np.testing.assert_array_equal(alignment[: len(tokens)], np.eye(7)[[START, *tokens][: len(tokens)]])
        assert not alignment[len(tokens) :].any()


def test_a_model_without_alignments_is_refused():
    with pytest.raises(ValueError, match="source_length: expected None, because the model has no alignment"):
        greedy(markov(TABLE), (), start_ids=[START], source_length=3, **OPTIONS)


@only_tensorflow
@pytest.mark.parametrize("compiled", [False, True])
def test_graphs_give_equal_results(compiled):
    import tensorflow as tf

    model = Recurrent(6, seed=2)
    sources = model.sources(12)

    def write(sources, starts):
        return greedy(model.cached, {"hidden": sources}, start_ids=starts, source_length=6, **OPTIONS)

    starts = tf.fill([12], START)
    expected = numbers(write(tf.constant(sources), starts))
    answer = numbers(tf.function(write, jit_compile=compiled, autograph=False)(sources, starts))
    np.testing.assert_array_equal(answer.token_ids, expected.token_ids)
    np.testing.assert_allclose(answer.scores, expected.scores, rtol=1e-5)
    np.testing.assert_array_equal(answer.alignment, expected.alignment)


@only_tensorflow
def test_sizes_may_be_dynamic_in_a_graph():
    import tensorflow as tf

    model = Recurrent(6, seed=2)
    signature = [tf.TensorSpec([None, 5]), tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32)]

    @tf.function(input_signature=signature, autograph=False)
    def write(sources, max_length, limits):
        starts = tf.fill(tf.shape(sources)[:1], START)
        options = {**OPTIONS, "max_length": max_length, "length_limit": limits}
        return greedy(model.cached, {"hidden": sources}, start_ids=starts, **options)

    for batch, length in ((3, 4), (12, 6)):
        sources = model.sources(12)[:batch]
        answer = numbers(write(sources, length, [length] * batch))
        assert answer.token_ids.shape == (batch, length)
        options = {**OPTIONS, "max_length": length}
        expected = numbers(greedy(model.cached, {"hidden": sources}, start_ids=[START] * batch, **options))
        np.testing.assert_array_equal(answer.token_ids, expected.token_ids)
