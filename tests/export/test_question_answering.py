"""The export of question answering: answers are spans of contexts of any length, independent of the batch."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.servable_model import check_servable_model
from tfattn.errors import ExportError
from tfattn.export.question_answering import AnswerFinder
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.question_answering import QuestionAnswering
from tfattn.trained.ensemble import TrainedEnsemble

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "where", "is", "in", "rome", "##e", "hel", "##sin", ".", "海"]
PAIRS = [
    ("Who is in Rome?", "Helsin  is\u200b in ROMÉ. 海海 is Rome"),
    ("where", "\U0001f600 rome"),
    ("", "is in Helsin is"),
    ("Where is Rome", "in Rome " * 20),
]
WINDOWS = {"max_length": 10, "doc_stride": 2, "max_query_length": 2}
ROWS = [{"question": question, "context": context, "row": "x:1"} for question, context in PAIRS]


@pytest.fixture
def task(small_bert):
    def task(unanswerable=0, seed=4):
        targets = {"rows": 9, "unanswerable": unanswerable}
        bert = small_bert(WORDS, seed)
        made = QuestionAnswering(model=bert, targets=targets, max_answer_length=4, n_best_size=3)
        made.head.kernel.assign(np.random.default_rng(seed).normal(scale=0.5, size=made.head.kernel.shape))
        return made

    return task


@pytest.fixture
def tokenizer(wordpiece):
    return functools.partial(wordpiece, WORDS, "pieces", fields=("question", "context"))


@pytest.mark.parametrize(
    ("options", "unanswerable"),
    [
        ({}, 0),
        (WINDOWS, 5),
        pytest.param({}, 5, marks=pytest.mark.slow),
        pytest.param(WINDOWS, 0, marks=pytest.mark.slow),
    ],
)
def test_contract(task, tokenizer, tmp_path, options, unanswerable):
    point = OperatingPoint(0.1, {}) if unanswerable else None
    ensemble = TrainedEnsemble([(tokenizer(**options), task(unanswerable))], operating_point=point)
    outputs = check_servable_model(AnswerFinder, ensemble, ROWS, folder=tmp_path, litert=options is WINDOWS)
    for row, (_, context) in enumerate(PAIRS):
        start, end = outputs["start"][row], outputs["end"][row]
        assert outputs["answer"][row].decode() == context[start:end]
        assert unanswerable or end > start
    assert ((outputs["score"] > 0) & (outputs["score"] <= 1)).all()


def test_several_answers_are_sorted(task, tokenizer):
    served = AnswerFinder(TrainedEnsemble([(tokenizer(), task())]))
    questions, contexts = (tf.constant(column) for column in zip(*PAIRS, strict=True))
    functions = served.signatures()
    best, several = functions["serving_default"](questions, contexts), functions["n_best"](questions, contexts)
    for name in ("answer", "start", "end", "score"):
        np.testing.assert_array_equal(several[name][:, 0], best[name])
        assert several[name].shape == (4, 3)
    assert (np.diff(several["score"]) <= 0).all()
    nothing = functions["n_best"](questions[:1], tf.constant([""]))
    assert nothing["answer"].numpy().tolist() == [[b""] * 3] and not np.any(nothing["score"])
    assert functions["serving_default"](questions[:1], tf.constant([""]))["answer"].numpy().tolist() == [b""]


def test_a_context_of_five_thousand_words_is_read_completely(task, tokenizer):
    served = AnswerFinder(TrainedEnsemble([(tokenizer(doc_stride=6, max_query_length=3), task())]))
    context = "in " * 5000 + "helsin"
    found = served.signatures()["serving_default"](tf.constant(["who"]), tf.constant([context]))
    assert not found["truncated"].numpy()[0]
    windows = served.preprocessors[0]({"question": tf.constant(["who"]), "context": tf.constant([context])})
    assert windows["ends"].to_list()[-1][-2] == len(context)


def test_logits_are_those_of_the_trained_model(task, tokenizer):
    made = task()
    served = AnswerFinder(TrainedEnsemble([(tokenizer(), made)]))
    tokens = served._inputs.tokens({name: [row[name] for row in ROWS] for name in ("question", "context")})
    found = served.signatures()["logits"](*tokens.values())
    np.testing.assert_allclose(found["start_logits"], made(tokens)["logits"][:, :, 0], atol=1e-5)
    np.testing.assert_allclose(found["end_logits"], made(tokens)["logits"][:, :, 1], atol=1e-5)


def test_a_single_text_is_refused():
    with pytest.raises(
        ExportError, match=r"expected `data.preprocessing.fields: \[question, context\]`, received text"
    ):
        AnswerFinder.check_fields(("text",))
