"""The report of pre-training: the baseline, computed by hand, and further metrics."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.evaluation.pretraining import report
from tfattn.evaluation.report import Table
from tfattn.models.bert import Bert
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.tasks.bert_pretraining import BertPretraining
from tfattn.tasks.masked_lm import MaskedLm
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "man", "went"]
ROWS = [{"text": "the man went the man", "row": "a.txt:1"}, {"text": "the man", "row": "a.txt:2"}]
BOTH = {"loss": 2.5, "loss/masked_lm": 2.0, "loss/next_sentence": 0.5, "next_sentence_accuracy": 0.75}


class Hidden:
    """The records of a split, of which only the hidden tokens are looked at."""

    def __init__(self, *ids):
        self.ids = ids

    def dataset(self, epoch):
        ids = np.array([[*self.ids, 0]], "int32")
        weights = np.array([[*(1.0 for _ in self.ids), 0.0]], "float32")
        return tf.data.Dataset.from_tensors({"masked_lm_ids": ids, "masked_lm_weights": weights})


@pytest.fixture(scope="module")
def wordpiece(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in WORDS))
    wordpiece = WordPiece(vocabulary=str(path), max_length=16)
    wordpiece.fit([])
    return wordpiece


def found(wordpiece, task, metrics):
    keras.utils.set_random_seed(1)
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16, "max_sequence_length": 16}
    ensemble = TrainedEnsemble([(wordpiece, task(model=Bert(vocabulary_size=len(WORDS), **sizes)))])
    readers = {"train": Hidden(5, 5, 5, 6), "validation": Hidden(5, 5, 6, 7)}
    leaked = np.zeros(2, bool)
    metrics = {"loss": 2.0, "masked_lm_accuracy": 0.75, **metrics}
    return report(
        ensemble,
        SplitPredictions("validation", ROWS, {}, {}, 2.0, leaked, metrics=metrics, reader=readers.__getitem__),
    )


def test_the_baseline_uses_training_frequencies(wordpiece):
    metrics = found(wordpiece, MaskedLm, {}).metrics
    assert metrics["baseline_masked_lm_accuracy"] == 0.5  # two of four are the most frequent token
    likely = {5: 4 / 12, 6: 2 / 12, 7: 1 / 12}
    expected = -(2 * np.log(likely[5]) + np.log(likely[6]) + np.log(likely[7])) / 4
    assert metrics["baseline_masked_lm_loss"] == pytest.approx(expected)
    assert metrics["masked_lm_loss"] == 2.0 and metrics["masked_lm_perplexity"] == pytest.approx(np.exp(2.0))
    assert metrics["masked_lm_accuracy_low"] < 0.75 < metrics["masked_lm_accuracy_high"]


def test_few_tokens_have_a_warning(wordpiece):
    findings = found(wordpiece, MaskedLm, {})
    assert findings.headline.warnings == ["It is not better than always predicting “the”, the most frequent token."]
    assert findings.baselines == {
        "masked_lm_accuracy": 0.5,
        "loss": findings.metrics["baseline_masked_lm_loss"],
    }


def test_each_loss_term_has_its_own_metric(wordpiece):
    findings = found(wordpiece, BertPretraining, BOTH)
    assert findings.metrics["masked_lm_loss"] == 2.0 and findings.metrics["loss"] == 2.5
    assert "loss/masked_lm" in findings.baselines
    (table,) = (part for part in findings.sections[0].parts if isinstance(part, Table))
    assert ["next sentence accuracy", "75.0%", "50.0%"] in table.rows


def test_texts_are_shown_with_masks_and_predictions(wordpiece):
    findings = found(wordpiece, MaskedLm, {})
    first, second = findings.predictions
    assert (first["text"], first["hidden"], first["row"]) == ("the man [MASK] the man", "went", "a.txt:1")
    assert len(first["tokens"]) == len(first["scores"]) == len(WORDS) and set(first["tokens"]) <= set(WORDS)
    assert second["text"] == "the [MASK]"
