"""Sampling: frequencies, restrictions, seeds, and independent rows."""

import numpy as np
import pytest
from keras import ops
from scipy import stats

from tests.decoding.chains import END, START, Recurrent, markov, numbers, only_tensorflow, texts
from tfattn.decoding.greedy import greedy
from tfattn.decoding.sampling import sample

OPTIONS = {"end_id": END, "max_length": 6, "suppressed_ids": (0, START), "seed": 3}


def first_tokens(probabilities, num_rows=4000, **options):
    """One token for each of many equal rows: (N,)."""
    table = np.tile(probabilities, (len(probabilities), 1))
    options = {"end_id": -1, "max_length": 1, "seed": 1, **options}
    return ops.convert_to_numpy(sample(markov(table), (), start_ids=np.zeros(num_rows), **options).token_ids)[:, 0]


def fits(tokens, probabilities):
    """Whether tokens have these probabilities, by Pearson's test at one in a thousand."""
    counts = np.bincount(tokens, minlength=len(probabilities))
    possible = np.asarray(probabilities) > 0
    assert not counts[~possible].any()
    if possible.sum() == 1:
        return True
    expected = np.asarray(probabilities)[possible]
    return stats.chisquare(counts[possible], expected / expected.sum() * len(tokens)).pvalue > 1e-3


def written(model, sources, **options):
    options = {**OPTIONS, **options}
    return numbers(sample(model.cached, {"hidden": sources}, start_ids=[START] * len(sources), **options))


def test_frequencies_follow_the_probabilities():
    probabilities = np.array([0.4, 0.3, 0.2, 0.1])
    tokens = first_tokens(probabilities)
    assert fits(tokens, probabilities)
    assert not fits(tokens, [0.25] * 4), "the test can fail"
    half = probabilities**2
    assert fits(first_tokens(probabilities, temperature=0.5), half / half.sum())


def test_frequencies_of_a_large_vocabulary():
    # 1,003 tokens do not fill their groups; some are impossible.
    probabilities = np.random.default_rng(0).gamma(1.0, size=1003)
    probabilities[::7] = 0.0
    probabilities /= probabilities.sum()
    assert fits(first_tokens(probabilities, num_rows=20_000), probabilities)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"top_p": 0.65}, [1, 2]),  # 0.4 does not reach 0.65, 0.4 + 0.3 does
        ({"top_p": 0.75}, [1, 2, 3]),
        ({"top_p": 0.35}, [2]),
        ({"top_p": 1e-9}, [2]),
        ({"top_p": 0.999}, [0, 1, 2, 3]),
        ({"top_k": 3}, [1, 2, 3]),
        ({"top_k": 9}, [0, 1, 2, 3]),
        ({"top_k": 2, "top_p": 0.95}, [1, 2]),
        ({"top_k": 3, "top_p": 0.65}, [1, 2]),
        # At half the temperature: 9/30, 4/30 ... of squares: 0.533, 0.3, 0.133, 0.033.
        ({"temperature": 0.5, "top_p": 0.65}, [1, 2]),
        ({"temperature": 0.5, "top_p": 0.5}, [2]),
    ],
)
def test_only_top_tokens_are_sampled_proportionally(options, allowed):
    probabilities = np.array([0.1, 0.3, 0.4, 0.2])
    kept = probabilities ** (1 / options.get("temperature", 1.0)) * np.isin(np.arange(4), allowed)
    tokens = first_tokens(probabilities, **options)
    assert set(tokens.tolist()) == set(allowed)
    assert fits(tokens, kept / kept.sum())


def test_the_nucleus_of_a_large_vocabulary_equals_sorting():
    probabilities = np.random.default_rng(1).gamma(0.3, size=800)
    probabilities /= probabilities.sum()
    order = np.argsort(-probabilities)
    before = np.cumsum(probabilities[order]) - probabilities[order]
    nucleus, forty = order[before < 0.9], order[:40]
    for options, allowed in (({"top_p": 0.9}, nucleus), ({"top_k": 40}, forty), ({"top_k": 40, "top_p": 0.9}, forty)):
        kept = probabilities * np.isin(np.arange(800), allowed)
        assert fits(first_tokens(probabilities, num_rows=8000, **options), kept / kept.sum())


def test_ties_keep_smaller_ids():
    assert set(first_tokens(np.full(8, 0.125), num_rows=500, top_k=3).tolist()) == {0, 1, 2}
    assert set(first_tokens(np.full(8, 0.125), num_rows=500, top_p=0.3).tolist()) == {0, 1, 2}


@pytest.mark.parametrize("temperature", [np.nan, np.inf])
def test_nan_weights_give_the_most_likely_token(temperature):
    # A suppressed token divided by infinity is not a number: no comparison with it is true.
    tokens = first_tokens([0.2, 0.5, 0.3], num_rows=3, suppressed_ids=(2,), temperature=[temperature] * 3, top_p=0.9)
    assert tokens.tolist() == [1, 1, 1]


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"temperature": 1e-3}, {"top_k": 1}, {"top_p": 1e-6}])
def test_top_k_1_is_greedy(options):
    model = Recurrent(600, seed=0)
    sources = model.sources(10)
    drawn = written(model, sources, **options)
    expected = {name: value for name, value in OPTIONS.items() if name != "seed"}
    expected = numbers(greedy(model.cached, {"hidden": sources}, start_ids=[START] * 10, **expected))
    np.testing.assert_array_equal(drawn.token_ids, expected.token_ids)
    np.testing.assert_allclose(drawn.scores, expected.scores, rtol=1e-5)


def test_scores_use_the_unmodified_probabilities():
    model = Recurrent(12, seed=1)
    sources = model.sources(6)
    drawn = written(model, sources, temperature=1.3, top_k=5, top_p=0.9)
    for source, tokens, score in zip(sources, texts(drawn), drawn.scores, strict=True):
        ended = [*tokens, END] if len(tokens) < 6 else tokens
        total = sum(model.log_probabilities(source, ended[:place])[token] for place, token in enumerate(ended))
        np.testing.assert_allclose(score, total, rtol=1e-4)


def test_the_same_seed_gives_the_same_text():
    model = Recurrent(600, seed=2)
    sources = model.sources(4)
    first = written(model, sources)
    np.testing.assert_array_equal(written(model, sources).token_ids, first.token_ids)
    assert (written(model, sources, seed=4).token_ids != first.token_ids).any()


def test_equal_rows_differ_under_one_seed_and_agree_under_equal_row_seeds():
    model = Recurrent(600, seed=2)
    sources = np.repeat(model.sources(1), 4, axis=0)
    assert len({tuple(tokens) for tokens in texts(written(model, sources))}) == 4
    found = texts(written(model, sources, seed=np.array([7, 8, 7, -7])))
    assert found[0] == found[2] and found[0] != found[1] != found[3]


def test_rows_are_independent():
    model = Recurrent(9, seed=3)
    sources = model.sources(9)
    settings = {
        "seed": np.arange(9),
        "temperature": np.array([0.0, 1.0, 2.0] * 3, "float32"),
        "top_k": np.array([0, 4, 1, 2, 0, 3, 5, 5, 5]),
        "top_p": np.array([1.0, 0.5, 0.9] * 3, "float32"),
        "length_limit": np.array([6, 5, 4, 3, 2, 1, 6, 6, 6]),
    }
    many = texts(written(model, sources, **settings))
    assert len({len(tokens) for tokens in many}) > 2
    order = np.random.default_rng(0).permutation(9)
    moved = written(model, sources[order], **{name: values[order] for name, values in settings.items()})
    assert texts(moved) == [many[row] for row in order]
    for row in (1, 4, 7):
        part = slice(row, row + 1)
        alone = written(model, sources[part], **{name: values[part] for name, values in settings.items()})
        assert texts(alone) == [many[row]]


def test_rows_with_own_seeds_are_independent():
    model = Recurrent(9, seed=3)
    sources = model.sources(9)
    assert texts(written(model, sources[:1])) == texts(written(model, sources))[:1]


def test_suppressed_tokens_are_never_sampled():
    probabilities = np.full(600, 1e-4)
    probabilities[:4] = 0.2
    tokens = first_tokens(probabilities / probabilities.sum(), suppressed_ids=(0, 2, 599))
    assert not set(tokens.tolist()) & {0, 2, 599}
    kept = np.where(np.isin(np.arange(600), (0, 2, 599)), 0.0, probabilities)
    assert fits(tokens, kept / kept.sum())


def test_alignments_are_returned_for_each_token():
    model = Recurrent(7, seed=4)
    drawn = written(model, model.sources(4), source_length=7)
    for tokens, alignment in zip(texts(drawn), drawn.alignment, strict=True):
        np.testing.assert_array_equal(alignment[: len(tokens)], np.eye(7)[[START, *tokens][: len(tokens)]])


@only_tensorflow
@pytest.mark.parametrize("compiled", [False, True])
def test_graphs_give_equal_results(compiled):
    import tensorflow as tf

    model = Recurrent(600, seed=5)
    sources = model.sources(6)

    def write(sources, seed, temperature, top_k, top_p):
        options = {**OPTIONS, "seed": seed, "temperature": temperature, "top_k": top_k, "top_p": top_p}
        return sample(model.cached, {"hidden": sources}, start_ids=tf.fill([6], START), **options)

    settings = [tf.constant(11), tf.constant(0.9), tf.constant(50), tf.constant(0.95)]
    expected = numbers(write(tf.constant(sources), *settings))
    answer = numbers(tf.function(write, jit_compile=compiled, autograph=False)(sources, *settings))
    np.testing.assert_array_equal(answer.token_ids, expected.token_ids)
    np.testing.assert_allclose(answer.scores, expected.scores, rtol=1e-5)


@only_tensorflow
def test_a_graph_takes_the_settings_of_each_row():
    import tensorflow as tf

    model = Recurrent(9, seed=3)
    rows = [tf.TensorSpec([None], kind) for kind in (tf.int64, tf.float32, tf.int32, tf.float32)]

    @tf.function(input_signature=[tf.TensorSpec([None, 5]), tf.TensorSpec([], tf.int32), *rows], autograph=False)
    def write(sources, max_length, seed, temperature, top_k, top_p):
        options = {**OPTIONS, "max_length": max_length, "seed": seed}
        options |= {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        return sample(model.cached, {"hidden": sources}, start_ids=tf.fill(tf.shape(sources)[:1], START), **options)

    sources = model.sources(3)
    settings = {"temperature": [0.0, 1.0, 1.5], "top_k": [0, 0, 4], "top_p": [1.0, 0.8, 1.0]}
    answer = write(sources, 5, [2**40 + 1, 2, 3], *settings.values())
    assert texts(answer) == texts(written(model, sources, seed=[1, 2, 3], max_length=5, **settings))
