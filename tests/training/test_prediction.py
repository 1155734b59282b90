"""Predictions of a split in the order of rows, and metrics from sums."""

import numpy as np
import pytest

from tfattn.ops.pooling import mean_by_row
from tfattn.training.prediction import Evaluator, encode, precompute, predict


@pytest.fixture
def train(data, tiny):
    return tiny.read(data, "train")


def test_predictions_are_in_the_order_of_rows(train, runtime, tiny):
    task = tiny.BagOfTokens()
    targets = predict(task, train, runtime).targets
    assert targets["label_ids"].tolist() == [row % 3 for row in range(53)]
    task.encode = lambda batch: batch["record_ids"][:, None]
    encoded, targets = encode(task, train, runtime)
    assert encoded[:, 0].tolist() == list(range(53))
    task.precompute = lambda batch: {"known": batch["record_ids"]}
    assert precompute(task, train, runtime)["known"].tolist() == list(range(53))
    assert targets["label_ids"].tolist() == [row % 3 for row in range(53)]


def test_sequences_of_different_widths_are_padded(train, runtime, tiny):
    task = tiny.BagOfTokens()
    task.predictions = lambda outputs: {"read": outputs["token_ids"]}
    task.call = lambda features, training=False: {**tiny.BagOfTokens.call(task, features), **features}
    predictions = predict(task, train, runtime).values
    assert predictions["read"].shape == (53, train.longest)
    for batch in train.dataset(0):
        for row, token_ids in zip(batch["record_ids"].numpy(), batch["token_ids"].numpy(), strict=True):
            np.testing.assert_array_equal(predictions["read"][row, : len(token_ids)], token_ids)
            assert not predictions["read"][row, len(token_ids) :].any()


def test_metrics_are_those_of_all_predictions(train, runtime, tiny):
    task = tiny.TwoTerms()
    metrics = Evaluator(task, runtime)(train)
    predictions, targets, _ = predict(task, train, runtime)
    assert metrics["accuracy"] == np.mean(predictions["label_ids"] == targets["label_ids"])
    assert metrics["loss"] == pytest.approx(metrics["loss/label"] + metrics["loss/norm"])


def test_only_columns_for_metrics_are_kept(train, runtime, tiny):
    task, kept = tiny.BagOfTokens(), []
    plain = task.metrics_from
    task.metrics_from = lambda statistics, rows: kept.append(rows) or plain(statistics, rows)
    evaluate = Evaluator(task, runtime)
    evaluate(train)
    task.per_example = lambda outputs, batch: {"first": batch["token_ids"][:, 0]}
    Evaluator(task, runtime)(train)
    assert kept[0] == {} and kept[1].keys() == {"first"} and len(kept[1]["first"]) == 53


def test_examples_are_combined_into_rows(train, runtime, tiny):
    task = tiny.BagOfTokens()
    task.predictions = lambda outputs: {"read": outputs["record"]}
    task.call = lambda features, training=False: {
        **tiny.BagOfTokens.call(task, features),
        "record": features["record_ids"][:, None],
    }
    task.merge_examples = lambda predictions, rows, num_rows: {"read": mean_by_row(predictions["read"], rows, num_rows)}
    train.source_rows = np.arange(53)[::-1] // 2 * 3  # two records a row from the last, and two rows in three none
    predicted = predict(task, train, runtime)
    assert predicted.rows.tolist() == list(range(0, 81, 3))
    assert predicted.values["read"][:, 0].tolist() == [51.5 - 2 * row for row in range(26)] + [0.0]
    assert predicted.targets["label_ids"].tolist() == [(51 - 2 * row) % 3 for row in range(26)] + [0]
