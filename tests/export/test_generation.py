"""The export of a language model."""

import contextlib
import itertools
import json
import re
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.servable_model import check_servable_model, load
from tfattn.export.generation import Generator
from tfattn.export.request_settings import Settings
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.sampling_params import RANGES, SamplingParams
from tfattn.tasks.generation import Generation
from tfattn.tasks.language_modeling import LanguageModeling
from tfattn.trained.ensemble import TrainedEnsemble

TEXTS = ["To be or not to be", "that is the question: ß ünï", "whether 'tis nobler in the mind", "日本語 too"]
ROWS = [{"text": "To be"}, {"text": "that is the q"}, {"text": ""}]
GENERATION = Generation(max_tokens=20, top_p=1.0, temperature=1.0)
CHAT = ("<|im_start|>", "<|im_end|>")


@pytest.fixture(scope="module")
def ensemble():
    keras.utils.set_random_seed(0)
    language = ByteBpe(vocabulary_size=280, max_length=32, special_tokens=CHAT)
    language.fit([{"text": text} for text in TEXTS])
    sizes = {"hidden_dim": 16, "num_layers": 2, "num_heads": 4, "num_key_value_heads": 2, "intermediate_dim": 32}
    model = Gpt(**language.sizes, **sizes, max_sequence_length=48, positions="rotary", initializer_range=0.5)
    return TrainedEnsemble([(language, LanguageModeling(model=model, preprocessor=language, generation=GENERATION))])


@pytest.fixture(scope="module")
def folder(ensemble, tmp_path_factory):
    folder = tmp_path_factory.mktemp("generator")
    check_servable_model(Generator, ensemble, ROWS, folder=folder, expected=Generator(ensemble).ensemble.predict(ROWS))
    return folder


@pytest.fixture(scope="module")
def ask(folder):
    loaded = load(folder / "1")
    defaults = Settings(GENERATION)

    def ask(signature="serving_default", **inputs):
        if signature in ("serving_default", "log_probabilities"):
            inputs = defaults.for_rows(len(inputs["text"])) | inputs
        sent = {name: tf.constant(values) for name, values in inputs.items()}
        assert loaded  # lives as long as its signatures are called
        return {name: value.numpy() for name, value in loaded.signatures[signature](**sent).items()}

    return ask


def texts(outputs):
    return [text.decode() for text in outputs["text"].ravel()]


def test_sampling_depends_only_on_the_seed_of_the_row(ask):
    together = ask(text=["To be", "that", "To be"], seed=[1, 2, 1])
    assert texts(together)[0] == texts(together)[2] != texts(ask(text=["To be"], seed=[2]))[0]
    assert texts(ask(text=["that"], seed=[2])) == texts(together)[1:2]


def test_a_text_ends_before_its_first_stop_string(ask):
    asked = {"text": ["To be"] * 2, "seed": [5, 5]}
    tokens = ask("log_probabilities", **asked)["token"][0]
    stop = tokens[3] + tokens[4][:1]  # across the bounds of tokens
    cut = ask(**asked, stop=[[stop, b""], [b"", b""]])
    written = b"".join(tokens)
    expected = [text.decode("utf-8", "replace") for text in (written.split(stop)[0], written)]
    assert [text.rstrip("\ufffd") for text in texts(cut)] == [text.rstrip("\ufffd") for text in expected]
    assert cut["finish_reason"].tolist() == [b"stop", b"length"] and cut["length"].tolist() == [5, 20]


def test_no_text_ends_within_a_character(ask):
    for limit in range(1, 12):
        written = ask(text=["日本語 too"] * 4, seed=[1, 2, 3, 4], max_tokens=[limit] * 4)
        for text in written["text"]:
            text.decode("utf-8")  # strictly


def test_the_former_name_of_the_limit_is_accepted(ask):
    limits = {}, {"max_tokens": [2]}, {"max_new_tokens": [2]}
    whole, cut, former = (ask(text=["To be"], seed=[3], **limit) for limit in limits)
    assert texts(cut) == texts(former) != texts(whole)
    beams = ask("n_best", text=["To be"], max_tokens=[5], max_new_tokens=[2])
    assert (beams["length"] <= 2).all()


def test_defaults_of_a_signature_are_those_of_the_pipeline():
    settings = Settings(Generation(stop=("END", "."), seed=-(2**40) - 3, max_tokens=None))
    signature = settings.signature(lambda text, **inputs: inputs)
    found = {name: value.numpy().tolist() for name, value in signature(tf.constant(["a"])).items()}
    assert found["stop"] == [[b"END", b"."]] and found["seed"] == [-3] and found["max_tokens"] == [2**31 - 1]
    assert settings.defaults["seed"] == -(2**40) - 3 and settings.defaults["max_tokens"] is None


def test_shorter_generations_are_prefixes_of_longer_ones(ask):
    few, more = (ask("log_probabilities", text=["To"], seed=[9], max_tokens=[n])["token"] for n in (3, 20))
    np.testing.assert_array_equal(few, more[:, :3])


def test_log_probabilities_add_up_to_the_score(ask):
    told = ask("log_probabilities", text=ROWS[0]["text"].split()[:1], seed=[4], max_tokens=[6])
    score = ask(text=["To"], seed=[4], max_tokens=[6])
    if score["finish_reason"][0] == b"length":
        np.testing.assert_allclose(told["log_probability"].sum(), score["score"][0], rtol=1e-5)
    assert (told["likeliest_log_probability"][0, :, 0] >= told["log_probability"][0] - 1e-5).all()
    assert (np.diff(told["likeliest_log_probability"], axis=2) <= 1e-6).all()


def test_score_is_the_log_probability_of_the_continuation(ask, ensemble):
    pairs = [("To be", " or not"), ("", "that"), ("日本", "語")]
    scored = ask("score", text=[text for text, _ in pairs], continuation=[text for _, text in pairs])
    language, model = ensemble.preprocessor, ensemble.task.model
    for row, pair in enumerate(pairs):
        before, behind = (list(ids) for ids in language.encode(pair))
        before = before or [language.end_id]
        logits = model({"token_ids": np.array([before + behind])})["logits"].numpy()[0]
        told = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        expected = sum(told[len(before) - 1 + index, token] for index, token in enumerate(behind))
        np.testing.assert_allclose(scored["score"][row], expected, rtol=1e-4)
        assert scored["length"][row] == len(behind)


def test_beams_are_sorted_and_no_worse_than_greedy(ask):
    beams = ask("n_best", text=["To be", "th"], max_tokens=[5, 5], max_new_tokens=[0, 0])
    assert beams["text"].shape == (2, 4)
    assert (np.diff(beams["score"], axis=1) <= 1e-6).all()


def test_single_steps_equal_the_whole_generation(ask, folder):
    known, texts = (
        json.loads((folder / f"1/assets/{name}.json").read_text()) for name in ("generation", "token_bytes")
    )
    token_bytes = [token.encode("latin-1") for token in texts]
    assert known["context"] == 48 and set(known["special_tokens"]) == set(CHAT)
    prompts, seeds = ["To be", "that is"], [3, 4]
    settings = {"repetition_penalty": [1.2, 1.0], "presence_penalty": [0.0, 0.5], "top_k": [0, 7]}
    whole = ask(text=prompts, seed=seeds, max_tokens=[10, 10], **settings)

    read = ask("tokenize", text=prompts)
    token_ids, lengths = read["token_ids"], read["lengths"]
    rows, width, capacity = len(prompts), known["vocabulary_size"], 40
    past = np.zeros((known["num_layers"], 2, rows, known["num_groups"], capacity, known["head_dim"]), "float32")
    mask = np.arange(token_ids.shape[1]) < lengths[:, None] - 1
    done = np.zeros(rows, "int32")
    new = ask("prefill", token_ids=token_ids, padding_mask=mask, lengths=done, past=past)["keys_values"]
    past[:, :, :, :, : new.shape[4]] = new
    in_prompt, counts = np.zeros((rows, width), bool), np.zeros((rows, width), "float32")
    for row in range(rows):
        in_prompt[row, token_ids[row, : lengths[row]]] = True
    last, lengths = token_ids[np.arange(rows), lengths - 1], lengths - 1
    found, ended = [b"", b""], [False, False]
    for index in range(10):
        step = ask(
            "decode_step",
            token_ids=last[:, None],
            padding_mask=np.ones((rows, 1), bool),
            lengths=lengths,
            past=past,
            index=np.full(rows, index, "int32"),
            seed=seeds,
            temperature=[1.0, 1.0],
            top_p=[1.0, 1.0],
            min_p=[0.0, 0.0],
            frequency_penalty=[0.0, 0.0],
            in_prompt=in_prompt,
            counts=counts,
            logit_bias=np.zeros((rows, 1), "float32"),
            **{"allowed": np.ones((rows, 1), bool), **settings},
        )
        for row in range(rows):
            past[:, :, row, :, lengths[row]] = step["keys_values"][:, :, row, :, 0]
        lengths, last = lengths + 1, step["token_ids"][:, 0]
        for row in range(rows):
            counts[row, last[row]] += 1
            ended[row] |= last[row] in known["end_ids"]
            found[row] += b"" if ended[row] else token_bytes[last[row]]
    # A character that was not finished is not in the whole.
    for ours, text in zip(found, whole["text"], strict=True):
        assert ours.decode("utf-8", "replace").rstrip("\ufffd") == text.decode().rstrip("\ufffd")


def a_step(folder, token_ids=((5,),)):
    """A request for a step of one row that has read nothing before."""
    known = json.loads((folder / "1/assets/generation.json").read_text())
    width = known["vocabulary_size"]
    rest = {"token_ids": token_ids, "padding_mask": np.ones(np.shape(token_ids), bool), "lengths": [0]}
    rest |= {
        "past": np.zeros((known["num_layers"], 2, 1, known["num_groups"], 0, known["head_dim"]), "float32"),
        "index": [0],
        "seed": [1],
    }
    rest |= {"in_prompt": np.zeros((1, width), bool), "counts": np.zeros((1, width), "float32")}
    rest |= {"allowed": [[True]], "logit_bias": [[0.0]]}
    return rest | {name: [value] for name, value in SamplingParams().of_logits.items()}


def test_draft_tokens_are_verified_in_one_step(ask, folder):
    written = ask("tokenize", text=["To be or not"])["token_ids"]
    penalties = {"repetition_penalty": [1.3], "presence_penalty": [0.3], "frequency_penalty": [0.2]}
    rest = a_step(folder, written) | {"temperature": [0.0]} | penalties
    del rest["token_ids"]
    together = ask("decode_step", token_ids=written, **rest)
    for index in range(written.shape[1]):
        first = {name: rest[name] for name in rest} | {"padding_mask": np.ones((1, index + 1), bool)}
        alone = ask("decode_step", token_ids=written[:, : index + 1], **first)
        assert alone["token_ids"][0, index] == together["token_ids"][0, index]


def test_log_probabilities_of_a_prompt_add_up_to_its_score(ask, folder):
    text, continuation = "To be", " or not to be"
    before, after = (ask("tokenize", text=[part])["token_ids"][0] for part in (text, continuation))
    ids = np.concatenate([before, after])[None]
    first = {name: a_step(folder)[name] for name in ("lengths", "past")}
    mask = np.ones((1, ids.shape[1] - 1), bool)
    found = ask("prompt_logprobs", token_ids=ids[:, :-1], padding_mask=mask, next_ids=ids[:, 1:], **first)
    expected = ask("score", text=[text], continuation=[continuation])
    assert expected["length"] == len(after)
    np.testing.assert_allclose(found["log_probability"][0, -len(after) :].sum(), expected["score"][0], atol=1e-4)
    read = ask("prefill", token_ids=ids[:, :-1], padding_mask=mask, **first)
    np.testing.assert_allclose(found["keys_values"], read["keys_values"], atol=1e-6)
    is_top = found["likeliest_ids"] == ids[:, 1:, None]
    rows = is_top.any(axis=2)
    np.testing.assert_array_equal(found["likeliest_log_probabilities"][is_top], found["log_probability"][rows])


NUMBERS = np.float32([0.0, -0.0, 1e-45, 1e-30, 3.4e38, np.inf, -np.inf, np.nan])
FRACTIONS = [name for name, limits in RANGES.items() if limits.kind is float]


@pytest.mark.parametrize("signature", ["serving_default", "log_probabilities", "decode_step"])
def test_any_number_is_accepted_or_refused_without_side_effects(ask, folder, signature):
    asked = a_step(folder) if signature == "decode_step" else {"text": ["To be"]}
    expected = ask(signature, **asked)
    names = FRACTIONS + ["counts", "logit_bias"] * (signature == "decode_step")
    for name, number in itertools.product(names, NUMBERS):
        shape = np.shape(asked.get(name, [0.0]))
        begun = time.monotonic()
        with contextlib.suppress(tf.errors.InvalidArgumentError):
            ask(signature, **asked | {name: np.full(shape, number)})
            assert name in ("counts", "logit_bias") or RANGES[name].low <= number <= RANGES[name].high
        assert time.monotonic() - begun < 20, (name, number)
    for name, value in ask(signature, **asked).items():
        np.testing.assert_array_equal(value, expected[name], name)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": [1.0, -1.0]}, "temperature: expected from 0 to 1e+30, received -1 in row 2"),
        ({"top_p": [1.5, 1.0]}, "top_p: expected from 1e-30 to 1, received 1.5 in row 1"),
        ({"max_tokens": [0, 1]}, "max_tokens: expected from 1 to 2147483647, received 0 in row 1"),
        ({"temperature": [float("nan"), 1.0]}, "temperature: expected from 0 to 1e+30, received nan in row 1"),
        (
            {"stop": [["x" * 2**20], [""]]},
            "stop: expected strings of at most 128 characters, received 1048576 characters",
        ),
        ({"text": ["a", "x" * 200]}, "tokens with its continuation; expected at most 48"),
    ],
)
def test_invalid_sampling_settings_are_refused(ask, wrong, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        ask(**({"text": ["a", "b"]} | wrong))
