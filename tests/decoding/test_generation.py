"""Generation equals recomputation of each text, one token at a time."""

import numpy as np
import pytest
from keras import ops

from tests.contracts.logits import at_once, logits_of
from tfattn.decoding.generation import Penalties, generate
from tfattn.decoding.sampling import Sampling
from tfattn.models.gpt import Gpt

from .chains import numbers, only_tensorflow

V, LENGTH = 24, 10
PROMPTS = [[5, 9, 2, 7, 7], [3], [11, 4, 4]]


@pytest.fixture(scope="module")
def model():
    model = Gpt(
        vocabulary_size=V,
        hidden_dim=16,
        num_layers=2,
        num_heads=4,
        num_key_value_heads=2,
        intermediate_dim=24,
        positions="rotary",
        dropout=0.0,
        max_sequence_length=64,
    )
    draw = np.random.default_rng(0)
    model.set_weights([draw.normal(0, 0.5, size=weight.shape) for weight in model.weights])
    return model


def settings(rows, *, seed=3, temperature=0.0, top_k=0, min_p=0.0, repetition=1.0, presence=0.0, frequency=0.0):
    sampling = Sampling.of_rows(
        rows, seed=np.full(rows, seed), temperature=temperature, top_k=top_k, top_p=1.0, min_p=min_p
    )
    penalties = (np.full(rows, penalty, "float32") for penalty in (repetition, presence, frequency))
    return sampling, Penalties(*(ops.convert_to_tensor(penalty) for penalty in penalties))


def arranged(prompts):
    lengths = np.array([len(prompt) for prompt in prompts])
    mask = np.arange(lengths.max()) < lengths[:, None]
    token_ids = np.zeros(mask.shape, "int32")
    token_ids[mask] = np.concatenate(prompts)
    return token_ids, mask


def written(model, prompts, *, max_length=LENGTH, end_ids=(0,), limits=None, suppressed_ids=(), **own):
    token_ids, mask = arranged(prompts)

    def write(token_ids, mask):
        before = ops.logical_and(
            mask, ops.arange(ops.shape(mask)[1]) < ops.sum(ops.cast(mask, "int32"), 1)[:, None] - 1
        )
        _, cache = model.read(token_ids, model.empty_cache(ops.shape(token_ids)[0]), before)
        sampling, penalties = settings(len(prompts), **own)
        return generate(
            model.step,
            cache,
            prompt_ids=token_ids,
            padding_mask=mask,
            vocabulary_size=V,
            end_ids=end_ids,
            max_length=max_length,
            sampling=sampling,
            penalties=penalties,
            length_limit=limits,
            suppressed_ids=suppressed_ids,
            num_top_logprobs=3,
        )

    decoded = at_once(write)(ops.convert_to_tensor(token_ids), ops.convert_to_tensor(mask))
    details = numbers(decoded.details)
    return numbers(decoded._replace(details=None))._replace(details=details)


def texts(decoded):
    return [row[:length].tolist() for row, length in zip(decoded.token_ids, decoded.lengths, strict=True)]


def log_probabilities(model, text):
    padded = np.zeros((1, max(map(len, PROMPTS)) + LENGTH), "int32")  # which no position before it sees
    padded[0, : len(text)] = text
    logits = logits_of(model, {"token_ids": padded})[0, len(text) - 1].astype("float64")
    return logits, logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()


def by_hand(model, prompt, *, repetition=1.0, presence=0.0, frequency=0.0, end_ids=(0,), length=LENGTH, suppressed=()):
    """Greedy, the whole text read anew for each token."""
    text, score = list(prompt), 0.0
    while len(text) - len(prompt) < length:
        logits, known = log_probabilities(model, text)
        own = text[len(prompt) :]
        for token in range(V):
            if token in text:
                logits[token] = logits[token] / repetition if logits[token] > 0 else logits[token] * repetition
            logits[token] -= presence * (token in own) + frequency * own.count(token)
        logits[list(suppressed)] = -np.inf
        token = int(logits.argmax())
        score += known[token]
        if token in end_ids:
            break
        text.append(token)
    return text[len(prompt) :], score


@pytest.mark.parametrize(
    "own",
    [
        pytest.param({}, id="greedy"),
        pytest.param({"repetition": 1.8, "frequency": 1.5}, id="penalties", marks=pytest.mark.every_backend),
        pytest.param({"presence": 2.0}, id="presence"),
    ],
)
def test_generation_equals_recomputation_of_each_prompt(model, own):
    decoded = written(model, PROMPTS, end_ids=(0, 1), suppressed_ids=(6,), **own)
    for row, prompt in enumerate(PROMPTS):
        text, score = by_hand(model, prompt, end_ids=(0, 1), suppressed=(6,), **own)
        assert texts(decoded)[row] == text
        np.testing.assert_allclose(decoded.scores[row], score, atol=1e-3)
    assert len(set(map(len, texts(decoded)))) > 1 or max(map(len, texts(decoded))) == LENGTH


@pytest.mark.parametrize(
    "own",
    [
        pytest.param({"temperature": 1.0}, id="all", marks=pytest.mark.slow),
        pytest.param({"temperature": 1.5, "top_k": 5, "min_p": 0.05}, id="some"),
    ],
)
def test_a_single_prompt_equals_a_batch(model, own):
    together = texts(written(model, PROMPTS, **own))
    assert together == [texts(written(model, [prompt], **own))[0] for prompt in PROMPTS]
    assert together != texts(written(model, PROMPTS, seed=4, **own))


def test_top_log_probabilities_are_returned_with_each_token(model):
    decoded = written(model, PROMPTS, temperature=1.0, presence=1.0)
    for row, prompt in enumerate(PROMPTS):
        text = list(prompt)
        for place, token in enumerate(texts(decoded)[row]):
            _, known = log_probabilities(model, text)
            np.testing.assert_allclose(decoded.details.log_probabilities[row, place], known[token], atol=1e-4)
            assert decoded.details.top_ids[row, place].tolist() == np.argsort(-known)[:3].tolist()
            np.testing.assert_allclose(decoded.details.top_logprobs[row, place], np.sort(known)[::-1][:3], atol=1e-4)
            text.append(token)
        assert (decoded.details.log_probabilities[row, len(text) - len(prompt) :] == 0).all()


def test_rows_have_separate_limits(model):
    decoded = written(model, PROMPTS, end_ids=(), limits=np.array([0, 4, LENGTH], "int32"))
    assert decoded.lengths.tolist() == [0, 4, LENGTH]


@only_tensorflow
def test_the_loop_gives_equal_results_in_a_graph(model):
    import tensorflow as tf

    decoded = texts(written(model, PROMPTS, temperature=1.0))

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)], autograph=False)
    def write(max_length):
        token_ids, mask = map(tf.constant, arranged(PROMPTS))
        last = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1, keepdims=True) - 1
        before = mask & (tf.range(tf.shape(mask)[1]) < last)
        _, cache = model.read(token_ids, model.empty_cache(3), before)
        sampling, penalties = settings(3, temperature=1.0)
        arguments = {"prompt_ids": token_ids, "padding_mask": mask, "vocabulary_size": V, "end_ids": (0,)}
        found = generate(model.step, cache, **arguments, max_length=max_length, sampling=sampling, penalties=penalties)
        return found.token_ids, found.lengths

    token_ids, lengths = (x.numpy() for x in write(tf.constant(LENGTH)))
    assert [row[:length].tolist() for row, length in zip(token_ids, lengths, strict=True)] == decoded
