"""What every task keeps of its contract."""

import keras
import numpy as np
import pytest

from tfattn import catalog
from tfattn.models.bert import Bert
from tfattn.models.feature_map_transformer import FeatureMapTransformer
from tfattn.models.transformer import Transformer
from tfattn.tasks.tabular_classification import TabularClassification
from tfattn.tasks.text_classification import TextClassification
from tfattn.tasks.translation import Translation
from tfattn.training.memory import outline

SIZES = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8}
THREE_LABELS = {"labels": ["a", "b", "c"], "counts": [1, 1, 1]}
LABELLED = {"label_ids": np.array([0, 1, 1])}


class Words:
    """Writes the same word whatever it is."""

    target_fields = ("target",)

    def detokenize(self, token_ids):
        return np.array([b"word"] * len(token_ids), object).view(Texts)


class Texts(np.ndarray):
    """Of a tensor it has `numpy`."""

    def numpy(self):
        return self


def text():
    return TextClassification(model=Bert(vocabulary_size=9, **SIZES), targets=THREE_LABELS)


def table(**options):
    return TabularClassification(model=FeatureMapTransformer(num_numeric=14, category_counts=[]), **options)


def translation():
    model = Transformer(vocabulary_size=9, target_vocabulary_size=9, **SIZES)
    return Translation(model=model, preprocessor=Words())


LOGITS = {"logits": np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], "float32")}
WRITTEN = {"log_likelihood": np.zeros(2), "num_tokens": np.ones(2)}
TARGETS = {"target_ids": np.ones((2, 3), "int32"), "target_padding_mask": np.ones((2, 3), bool)}
THREE = {"logits": np.eye(3, dtype="float32")}
TASKS = {
    "text_classification": [(text, THREE, LABELLED, {})],
    "tabular_classification": [
        (lambda: table(targets={"labels": None, "counts": [1, 1]}), LOGITS, LABELLED, {}),
        (lambda: table(targets={"labels": None, "counts": [1, 1, 1]}), THREE, LABELLED, {}),
        (lambda: table(targets=THREE_LABELS, positive="b"), THREE, LABELLED, {}),
    ],
    "translation": [
        (
            translation,
            WRITTEN,
            TARGETS,
            {"token_ids": np.zeros((2, 1)), "target": np.array(["word", "other"], object)},
        )
    ],
}


def arrays(values):
    return {name: keras.ops.convert_to_numpy(value) for name, value in values.items()}


@pytest.mark.parametrize("name", catalog.names("tasks"))
def test_the_metrics_are_those_that_it_names(name):
    for make, outputs, targets, texts in TASKS[name]:
        task = outline(make)
        batch = {**targets, "weights": np.ones(len(next(iter(targets.values()))), "float32")}
        rows = texts or arrays(task.of_each_row(outputs, batch))
        assert set(task.metric_names) == set(task.metrics_from(arrays(task.statistics(outputs, batch)), rows))
        assert task.monitor in task.metric_names


@pytest.mark.parametrize("name", catalog.names("tasks"))
def test_rows_that_fill_a_batch_count_in_nothing(name):
    for make, outputs, targets, _ in TASKS[name]:
        task, rows = outline(make), len(next(iter(targets.values())))
        filled = {name: np.concatenate([values, values[:1]]) for name, values in targets.items()}
        more = {name: np.concatenate([values, values[:1]]) for name, values in outputs.items()}
        weights = np.ones(rows + 1, "float32") * (np.arange(rows + 1) < rows)
        batch, filled = {**targets, "weights": weights[:rows]}, {**filled, "weights": weights}
        whole, found = (task.statistics(*pair) for pair in ((outputs, batch), (more, filled)))
        for statistic, value in arrays(whole).items():
            np.testing.assert_array_equal(arrays(found)[statistic], value)
        assert set(task.loss_names) == set(task.loss_weights(batch))
        for term in task.loss_names:
            sums = [np.sum(arrays(task.loss_weights(one))[term]) for one in (batch, filled)]
            assert sums[0] == sums[1] > 0
