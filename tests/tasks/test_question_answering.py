"""Question answering: targets, best spans, and merging of windows."""

import keras
import numpy as np
import pytest

from tests.contracts.task import check_any_length, check_task
from tests.tasks.small_encoder import arrays, small_encoder
from tfattn.tasks.answer_threshold import choose
from tfattn.tasks.question_answering import QuestionAnswering

DRAW = np.random.default_rng(1)
# [CLS] who [SEP] text of unequal length [SEP]
LENGTHS = np.array([9, 7, 5, 8])
PLACES = np.arange(9)
TEXT = (PLACES > 2) & (LENGTHS[:, None] - 1 > PLACES)
BATCH = {
    "token_ids": np.where(LENGTHS[:, None] > PLACES, DRAW.integers(1, 50, size=(4, 9)), 0).astype("int32"),
    "padding_mask": LENGTHS[:, None] > PLACES,
    "starts": np.where(TEXT, 10 * PLACES, 0).astype("int32"),
    "ends": np.where(TEXT, 10 * PLACES + 9, 0).astype("int32"),
    "max_context": TEXT.astype("int32"),
    "start_positions": np.array([3, 0, -1, 4], "int32"),
    "end_positions": np.array([5, 0, -1, 4], "int32"),
    "weights": np.ones(4, "float32"),
}


def task(unanswerable=0, **options):
    options = {"dropout": 0.0, "n_best_size": 4, "max_answer_length": 3, **options}
    return QuestionAnswering(model=small_encoder(), targets={"rows": 9, "unanswerable": unanswerable}, **options)


@pytest.mark.parametrize("unanswerable", [0, 3])
def test_contract(tmp_path, unanswerable):
    check_task(lambda: task(unanswerable), BATCH, folder=tmp_path)
    check_any_length(task(unanswerable), BATCH)


def test_the_loss_is_the_mean_of_both_ends_over_the_text_and_cls():
    made = task()
    outputs = made(BATCH)
    (loss,), (weights,) = arrays(made.loss_terms(outputs, BATCH)).values(), arrays(made.loss_weights(BATCH)).values()
    assert weights.tolist() == [1, 1, 0, 1]
    logits = keras.ops.convert_to_numpy(outputs["logits"]).astype(float)
    may_be = TEXT | (PLACES == 0)
    for row in (0, 1, 3):
        each = [
            np.log(np.exp(logits[row, may_be[row], side]).sum()) - logits[row, BATCH[name][row], side]
            for side, name in enumerate(("start_positions", "end_positions"))
        ]
        assert loss[row] == pytest.approx(np.mean(each), abs=1e-5)


def test_answers_are_spans_of_the_text():
    found = arrays(task().predictions(task()(BATCH)))
    assert found["has_answer"].all()
    assert (found["ends"][:, 0] > found["starts"][:, 0]).all() and (found["starts"][:, 0] >= 30).all()
    assert (found["ends"] - found["starts"] <= 29).all()
    np.testing.assert_allclose(found["scores"].sum(1), 1, atol=1e-5)
    np.testing.assert_array_equal(found["score"], found["scores"][:, 0])


def predictions(**columns):
    return {name: np.array(values, "float32" if "score" in name else "int32") for name, values in columns.items()}


def test_windows_are_merged_by_best_span_and_lowest_no_answer_score():
    made = task(unanswerable=1, n_best_size=2)
    windows = predictions(
        span_scores=[[5, 1], [6, -1e9], [2, 0], [-1e9, -1e9]],
        starts=[[10, 20], [30, 0], [40, 50], [0, 0]],
        ends=[[15, 25], [35, 0], [45, 55], [0, 0]],
        null_score=[9, 4, 1, 3],
    )
    found = arrays(made.merge_examples(windows, np.array([0, 0, 0, 1]), 2))
    assert found["starts"].tolist() == [[30, 10], [0, 0]] and found["ends"].tolist() == [[35, 15], [0, 0]]
    assert found["span_scores"].tolist()[0] == [6, 5] and found["null_score"].tolist() == [1, 3]
    assert found["has_answer"].tolist() == [True, False]
    np.testing.assert_allclose(found["score"], [np.exp(6) / np.exp([6, 5, 1]).sum(), 1], rtol=1e-5)
    nothing = {name: values[:0] for name, values in windows.items()}
    assert all(len(x) == 0 for x in arrays(made.merge_examples(nothing, np.zeros(0, int), 0)).values())


def test_the_threshold_is_the_one_with_the_highest_f1():
    margins = np.array([4.0, 3.0, 1.0, -2.0, -5.0])
    given = ["a b", "c", "d", "e", "f"]
    answers = [["a b"], ["c"], [], ["e"], []]
    point = choose(margins, given, answers)
    assert point.threshold == -3.5
    assert point.metrics == {"f1": 0.8, "exact_match": 0.8}
    assert choose(margins, given, [[]] * 5).threshold > 4
    assert choose(margins, given, [[text] for text in given]).threshold < -5
    made = task(unanswerable=2)
    spans = predictions(
        span_scores=np.column_stack([margins + 1, margins]), starts=[[0, 0]] * 5, ends=[[1, 1]] * 5, null_score=[1] * 5
    )
    rows = [{"context": "x", "answers": [{"text": "x", "start": 0}] if margin > 2 else []} for margin in margins]
    chosen = made.choose_operating_point(spans, {}, rows)
    assert chosen.threshold == 2
    together = arrays(made.combine([arrays(made._with_answers(spans))], chosen))
    assert together["has_answer"].tolist() == [True, True, False, False, False]


def test_training_metrics_are_of_windows_with_an_answer():
    made = task()
    outputs = made(BATCH)
    logits = np.zeros((4, 9, 2), "float32")
    logits[0, 4, 0] = logits[0, 5, 1] = logits[3, 4, 0] = logits[3, 4, 1] = 9.0
    metrics = made.metrics_from(arrays(made.statistics({**outputs, "logits": logits}, BATCH)), {})
    assert metrics == {"span_f1": pytest.approx((0.8 + 1) / 2), "span_accuracy": 0.5}
