"""Beam search: sums by hand, exhaustive search over a tiny vocabulary, and early finishing."""

import itertools

import numpy as np
import pytest
from keras import ops

from tests.decoding.chains import END, START, Recurrent, markov, numbers, only_tensorflow, texts
from tfattn.decoding.beam import beam_search
from tfattn.decoding.greedy import greedy

A, B, C = 3, 4, 5
#                padding end  start  A    B    C
TOY = np.array(
    [
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.6, 0.4, 0.0],  # start
        [0.0, 0.4, 0.0, 0.1, 0.2, 0.3],  # A
        [0.0, 0.9, 0.0, 0.0, 0.0, 0.1],  # B
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],  # C
    ]
)
OPTIONS = {"end_id": END, "max_length": 6, "suppressed_ids": (0, START)}


def search(model, sources, **options):
    starts, state = np.full(len(sources), START), model.first_state(sources, options["num_beams"])
    return numbers(beam_search(model.cached, state, start_ids=starts, **{**OPTIONS, **options}))


def penalty(num_terms, alpha):
    return ((5 + num_terms) / 6) ** alpha


def test_beam_search_finds_a_better_text_than_greedy():
    # Greedy: A (0.6) is likelier than B (0.4), then the end (0.4): 0.6 x 0.4 = 0.24. But B end: 0.4 x 0.9 = 0.36.
    assert texts(greedy(markov(TOY), (), start_ids=[START], **OPTIONS)) == [[A]]
    decoded = beam_search(markov(TOY), (), start_ids=[START], num_beams=2, **OPTIONS)
    assert texts(decoded) == [[B]]
    np.testing.assert_allclose(ops.convert_to_numpy(decoded.scores), np.log([0.36]), rtol=1e-5)
    assert decoded.alignment is None


def test_the_three_best_texts():
    # Step 1: A 0.6, B 0.4. Step 2: B end 0.36, A end 0.24, A C 0.18, A B 0.12, A A 0.06, B C 0.04; two have ended.
    # Step 3: A C end 0.18 x 1, A B end 0.12 x 0.9 = 0.108, A A end 0.06 x 0.4 = 0.024. The third that ends is A C.
    decoded = beam_search(markov(TOY), (), start_ids=[START], num_beams=3, num_results=3, **OPTIONS)
    assert texts(decoded) == [[[B], [A], [A, C]]]
    np.testing.assert_allclose(ops.convert_to_numpy(decoded.scores), np.log([[0.36, 0.24, 0.18]]), rtol=1e-5)


def test_the_length_penalty_changes_the_choice():
    table = TOY.copy()
    table[START] = [0.0, 0.0, 0.0, 0.5, 0.5, 0.0]
    table[A] = [0.0, 0.8, 0.0, 0.2, 0.0, 0.0]
    table[B] = [0.0, 0.1, 0.0, 0.0, 0.0, 0.9]
    table[C] = [0.0, 0.85, 0.0, 0.0, 0.0, 0.15]
    # A end: ln(0.5 x 0.8) = -0.9163, two terms. B C end: ln(0.5 x 0.9 x 0.85) = -0.9611, three terms.
    # With alpha 1: -0.9163 / (7/6) = -0.7854 and -0.9611 / (8/6) = -0.7208.
    options = {"start_ids": [START], "num_beams": 4, **OPTIONS}
    short = beam_search(markov(table), (), **options)
    long = beam_search(markov(table), (), length_penalty=1.0, **options)
    assert texts(short) == [[A]] and texts(long) == [[B, C]]
    np.testing.assert_allclose(ops.convert_to_numpy(short.scores), [-0.9163], atol=1e-4)
    np.testing.assert_allclose(ops.convert_to_numpy(long.scores), [-0.7208], atol=1e-4)


def all_texts(model, source, words, max_length, alpha):
    """Every text with its score, best first: those that end, then those that are cut."""
    ended, cut = [], []
    for length in range(max_length + 1):
        for tokens in itertools.product(words, repeat=length):
            total = sum(model.log_probabilities(source, tokens[:i])[token] for i, token in enumerate(tokens))
            if length < max_length:
                total += model.log_probabilities(source, tokens)[END]
                ended.append((total / penalty(length + 1, alpha), list(tokens)))
            else:
                cut.append((total / penalty(length, alpha), list(tokens)))
    return sorted(ended, reverse=True) + sorted(cut, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_wide_beam_finds_the_best_of_all_texts(seed, alpha):
    model = Recurrent(5, seed)
    sources = model.sources(2, seed)
    # Two words and up to four tokens: 15 texts that end, 16 that are cut.
    options = {"num_beams": 32, "max_length": 4, "length_penalty": alpha}
    decoded = search(model, sources, num_results=20, suppressed_ids=(0, START), **options)
    assert decoded.token_ids.shape == (2, 20, 4)
    best = search(model, sources, **options)
    for row in range(2):
        expected = all_texts(model, sources[row], (3, 4), 4, alpha)
        assert texts(decoded)[row] == [tokens for _, tokens in expected[:20]]
        np.testing.assert_allclose(decoded.scores[row], [score for score, _ in expected[:20]], rtol=1e-4)
        assert texts(best)[row] == expected[0][1]


def search_to_the_end(model, source, words, *, num_beams, num_results, max_length, alpha):
    """The same search in plain Python, without an early finish: until enough have ended and no beam is better."""
    live, ended, num_ended = [(0.0, [])], [], 0
    for index in range(max_length):
        ranked = sorted(
            (
                (total + log_probabilities[token], [*tokens, token])
                for total, tokens in live
                for log_probabilities in [model.log_probabilities(source, tokens)]
                for token in (END, *words)
            ),
            reverse=True,
        )
        new = [
            (total / penalty(index + 1, alpha), tokens[:-1])
            for total, tokens in ranked[:num_beams]
            if tokens[-1] == END
        ]
        num_ended += len(new)
        ended = sorted([*ended, *new], reverse=True)[:num_results]
        live = [(total, tokens) for total, tokens in ranked if tokens[-1] != END][:num_beams]
        if num_ended >= num_beams and live[0][0] / penalty(index + 2, alpha) <= ended[-1][0]:
            return ended
    return [*ended, *((total / penalty(max_length, alpha), tokens) for total, tokens in live)][:num_results]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize(("num_beams", "num_results"), [(1, 1), (2, 1), (4, 1), (4, 3), (4, 4)])
def test_the_early_finish_changes_no_result(num_beams, num_results, alpha):
    model = Recurrent(9, seed=4)
    sources = model.sources(6)
    options = {"num_beams": num_beams, "num_results": num_results, "max_length": 8}
    decoded = search(model, sources, length_penalty=alpha, **options)
    for row, source in enumerate(sources):
        expected = search_to_the_end(model, source, range(3, 9), alpha=alpha, **options)
        assert texts(decoded)[row] == [tokens for _, tokens in expected]
        np.testing.assert_allclose(decoded.scores[row], [score for score, _ in expected], rtol=1e-4)


def test_early_low_scores_do_not_end_the_search():
    table = TOY.copy()
    table[START] = [0.0, 0.02, 0.0, 0.98, 0.0, 0.0]
    table[A] = [0.0, 0.02, 0.0, 0.0, 0.98, 0.0]
    table[B] = [0.0, 0.02, 0.0, 0.0, 0.0, 0.98]
    # After two steps two texts have ended, with 0.02 and 0.98 x 0.02; A B is still at 0.96.
    assert texts(beam_search(markov(table), (), start_ids=[START], num_beams=2, **OPTIONS)) == [[A, B, C]]


@only_tensorflow
def test_the_loop_ends_when_no_beam_can_win():
    calls = []

    def counted(token_ids, index, state):
        calls.append(int(index))
        return markov(TOY)(token_ids, index, state)

    def steps(**options):
        calls.clear()
        beam_search(counted, (), start_ids=[START, B], num_beams=3, **{**OPTIONS, "max_length": 50, **options})
        return len(calls)

    # After two steps the best text has 0.36, the best beam 0.18. With a penalty the beam could still win if it got
    # very long for free: ln 0.18 / (55/6) > ln 0.36 / (7/6). A limit says that it cannot, and so does the third end.
    assert steps() == 2
    assert steps(num_results=2) == 2
    assert steps(num_results=3) == 3
    assert steps(length_penalty=1.0) == 3
    assert steps(length_penalty=1.0, length_limit=2) == 2


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_one_beam_is_greedy(alpha):
    model = Recurrent(20, seed=5)
    sources = model.sources(20)
    beam = search(model, sources, num_beams=1, length_penalty=alpha)
    greedily = numbers(greedy(model.cached, {"hidden": sources}, start_ids=[START] * 20, **OPTIONS))
    np.testing.assert_array_equal(beam.token_ids, greedily.token_ids)
    np.testing.assert_array_equal(beam.lengths, greedily.lengths)
    num_terms = np.minimum(beam.lengths + 1, 6)
    np.testing.assert_allclose(beam.scores * penalty(num_terms, alpha), greedily.scores, rtol=1e-5)


def test_cached_equals_uncached():
    model = Recurrent(20, seed=6)
    sources = model.sources(6)
    options = {"num_beams": 4, "num_results": 4, "length_penalty": 0.6}
    cached = search(model, sources, **options)
    state = (np.repeat(sources, 4, axis=0), np.zeros((24, 6), "int32"))
    uncached = numbers(beam_search(model.uncached, state, start_ids=[START] * 6, **OPTIONS, **options))
    np.testing.assert_array_equal(cached.token_ids, uncached.token_ids)
    np.testing.assert_allclose(cached.scores, uncached.scores, rtol=1e-5)


def test_n_best_are_sorted_and_distinct():
    model = Recurrent(600, seed=7)
    sources = model.sources(10)
    for alpha in (0.0, 1.0):
        decoded = search(model, sources, num_beams=5, num_results=5, length_penalty=alpha, max_length=12)
        best = search(model, sources, num_beams=5, length_penalty=alpha, max_length=12)
        for row, (found, scores) in enumerate(zip(texts(decoded), decoded.scores, strict=True)):
            assert len({tuple(tokens) for tokens in found}) == 5
            ended = [length < 12 for length in decoded.lengths[row]]
            assert ended == sorted(ended, reverse=True), "what is cut comes last"
            for kind in (True, False):
                of_kind = [score for score, is_ended in zip(scores, ended, strict=True) if is_ended == kind]
                assert of_kind == sorted(of_kind, reverse=True)
            assert texts(best)[row] == found[0]
        np.testing.assert_array_equal(best.scores, decoded.scores[:, 0])


def test_a_batch_of_one_equals_a_batch_of_many():
    model = Recurrent(6, seed=8)
    sources = model.sources(12)
    limits = np.array([6, 5, 4, 3, 2, 1] * 2)
    options = {"num_beams": 3, "num_results": 2, "length_penalty": 0.6}
    many = search(model, sources, length_limit=limits, **options)
    assert len(set(many.lengths[:, 0].tolist())) > 2
    for row in range(6):
        one = search(model, sources[row : row + 1], length_limit=limits[row : row + 1], **options)
        np.testing.assert_array_equal(one.token_ids[0], many.token_ids[row])
        np.testing.assert_allclose(one.scores[0], many.scores[row], rtol=1e-6)
        shorter = search(model, sources[row : row + 1], **{**options, "max_length": limits[row]})
        np.testing.assert_array_equal(shorter.token_ids[0], many.token_ids[row, :, : limits[row]])


def test_texts_cut_at_the_limit_are_returned():
    endless = np.zeros((6, 6))
    endless[:, [A, B]] = [0.75, 0.25]
    options = {**OPTIONS, "num_beams": 4, "num_results": 2, "length_penalty": 1.0}
    decoded = beam_search(markov(endless), (), start_ids=[START] * 3, length_limit=[2, 6, 0], **options)
    found = texts(decoded)
    assert found[0][0] == [A, A] and found[1][0] == [A] * 6 and found[2] == [[], []]
    assert found[0][1] in ([A, B], [B, A])
    scores = ops.convert_to_numpy(decoded.scores)
    np.testing.assert_allclose(scores[0], np.log([0.75**2, 0.75 * 0.25]) / (7 / 6), rtol=1e-5)
    assert (scores[2] == -np.inf).all()


def test_ended_texts_rank_before_cut_texts():
    table = np.zeros((6, 6))
    table[:, [END, A]] = [0.01, 0.99]
    options = {**OPTIONS, "max_length": 3, "num_beams": 2}
    assert texts(beam_search(markov(table), (), start_ids=[START], **options)) == [[]]
    both = beam_search(markov(table), (), start_ids=[START], num_results=2, **options)
    assert texts(both) == [[[], [A]]]


@pytest.mark.parametrize("stopping", ["beams", "ended"])
def test_cut_texts_may_rank_like_ended_texts(stopping):
    table = np.zeros((6, 6))
    table[:, [END, A]] = [0.01, 0.99]
    options = {**OPTIONS, "max_length": 3, "num_beams": 2, "num_results": 2}
    found = beam_search(markov(table), (), start_ids=[START], stopping=stopping, **options)
    # "ended" stops as soon as the texts of no token and of one token have ended.
    assert texts(found) == [[[A, A, A], []] if stopping == "beams" else [[], [A]]]


def test_a_text_of_the_maximum_length_may_be_forced_to_end():
    endless = np.zeros((6, 6))
    endless[:, [A, B]] = [0.75, 0.25]
    options = {**OPTIONS, "num_beams": 2, "forced_end": True}
    decoded = beam_search(markov(endless), (), start_ids=[START] * 2, length_limit=[2, 6], **options)
    assert texts(decoded) == [[A], [A] * 5]
    np.testing.assert_allclose(ops.convert_to_numpy(decoded.scores), [np.log(0.75), 5 * np.log(0.75)], rtol=1e-5)


def test_the_penalty_may_be_a_power_of_the_length():
    options = {**OPTIONS, "num_beams": 2, "length_penalty_offset": 0.0}
    decoded = beam_search(markov(TOY), (), start_ids=[START], length_penalty=2.0, **options)
    assert texts(decoded) == [[A, C]]
    np.testing.assert_allclose(ops.convert_to_numpy(decoded.scores), [np.log(0.6 * 0.3) / 3**2], rtol=1e-5)


def test_tokens_that_are_never_generated_may_have_no_probability():
    options = {**OPTIONS, "num_beams": 2, "suppressed_ids": (0, START, A), "renormalize": True}
    decoded = beam_search(markov(TOY), (), start_ids=[START], **options)
    assert texts(decoded) == [[B]]
    np.testing.assert_allclose(ops.convert_to_numpy(decoded.scores), [np.log(1.0 * 0.9)], rtol=1e-5)


def test_fewer_texts_than_requested():
    sure = np.zeros((6, 6))
    sure[:, END] = 1.0
    options = {**OPTIONS, "suppressed_ids": (0, START, A, B, C), "num_beams": 3, "num_results": 3}
    decoded = beam_search(markov(sure), (), start_ids=[START], **options)
    assert texts(decoded) == [[[], [], []]]
    np.testing.assert_allclose(ops.convert_to_numpy(decoded.scores), [[0.0, -np.inf, -np.inf]], atol=1e-5)


def test_suppressed_tokens_are_never_generated():
    model = Recurrent(600, seed=9)
    suppressed_ids = (0, START, *range(100, 590))
    decoded = search(model, model.sources(8), num_beams=4, num_results=4, suppressed_ids=suppressed_ids)
    written = {token for row in texts(decoded) for tokens in row for token in tokens}
    assert written and not written & set(suppressed_ids)


def test_alignments_are_those_of_the_best_beam():
    # A token is aligned with the place that has the number of the token before it.
    model = Recurrent(9, seed=10)
    decoded = search(model, model.sources(10), num_beams=4, num_results=4, source_length=9)
    assert decoded.alignment.shape == (10, 4, 6, 9)
    for tokens, alignment in zip(sum(texts(decoded), []), decoded.alignment.reshape(40, 6, 9), strict=True):
        np.testing.assert_array_equal(alignment[: len(tokens)], np.eye(9)[[START, *tokens][: len(tokens)]])
        assert not alignment[len(tokens) :].any()
    best = search(model, model.sources(10), num_beams=4, source_length=9)
    np.testing.assert_array_equal(best.alignment, decoded.alignment[:, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_beams": 0}, "num_beams: expected at least 1, received 0"),
        ({"num_beams": 2, "num_results": 3}, "num_results: expected 1 to num_beams=2, received 3"),
        ({"num_beams": 2, "length_penalty": -0.5}, "length_penalty: expected at least 0, received -0.5"),
        ({"num_beams": 2, "source_length": 4}, "source_length: expected None, because the model has no alignment"),
    ],
)
def test_invalid_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        beam_search(markov(TOY), (), start_ids=[START], **OPTIONS, **options)


@only_tensorflow
@pytest.mark.parametrize("compiled", [False, True])
def test_graphs_give_equal_results(compiled):
    import tensorflow as tf

    model = Recurrent(600, seed=11)
    sources = model.sources(5)
    options = {**OPTIONS, "num_beams": 3, "num_results": 2, "length_penalty": 0.6, "source_length": 600}

    def write(sources, starts):
        return beam_search(model.cached, model.first_state(sources, 3), start_ids=starts, **options)

    expected = numbers(write(tf.constant(sources), tf.fill([5], START)))
    answer = numbers(tf.function(write, jit_compile=compiled, autograph=False)(sources, tf.fill([5], START)))
    np.testing.assert_array_equal(answer.token_ids, expected.token_ids)
    np.testing.assert_allclose(answer.scores, expected.scores, rtol=1e-5)
    np.testing.assert_array_equal(answer.alignment, expected.alignment)


@only_tensorflow
def test_a_graph_of_any_sizes_has_only_allowed_operations():
    import tensorflow as tf

    model = Recurrent(9, seed=4)
    scalar = tf.TensorSpec([], tf.int32)

    @tf.function(input_signature=[tf.TensorSpec([None, 5]), scalar, tf.TensorSpec([]), scalar], autograph=False)
    def write(sources, max_length, length_penalty, source_length):
        starts = tf.fill(tf.shape(sources)[:1], START)
        options = {**OPTIONS, "max_length": max_length, "length_penalty": length_penalty}
        state = model.first_state(sources, 3)
        return beam_search(model.cached, state, start_ids=starts, num_beams=3, source_length=source_length, **options)

    for batch, length in ((3, 4), (7, 6)):
        sources = model.sources(7)[:batch]
        answer = numbers(write(sources, length, 0.6, 9))
        assert answer.token_ids.shape == (batch, length) and answer.alignment.shape == (batch, length, 9)
        expected = search(model, sources, num_beams=3, max_length=length, length_penalty=0.6)
        np.testing.assert_array_equal(answer.token_ids, expected.token_ids)
    graph = write.get_concrete_function().graph.as_graph_def()
    functions = [function.node_def for function in graph.library.function]
    operations = {node.op for nodes in (graph.node, *functions) for node in nodes}
    assert "While" in operations or "StatelessWhile" in operations
    assert not [name for name in operations if name.startswith("Xla") or "PyFunc" in name]
