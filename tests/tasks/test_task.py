"""What every task keeps of its contract."""

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
    return TextClassification(model=Bert(vocabulary_size=9, **SIZES), num_classes=3)


def table(**options):
    return TabularClassification(model=FeatureMapTransformer(num_numeric=14, category_counts=[]), **options)


def translation():
    model = Transformer(vocabulary_size=9, target_vocabulary_size=9, **SIZES)
    return Translation(model=model, preprocessor=Words())


SCORES = {"label_ids": np.array([0, 1, 0]), "scores": np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])}
WRITTEN = {"token_ids": np.zeros((2, 1)), "log_likelihood": np.zeros(2), "num_tokens": np.ones(2)}
TASKS = {
    "text_classification": [(text, SCORES, LABELLED)],
    "tabular_classification": [
        (lambda: table(num_classes=2), SCORES, LABELLED),
        (lambda: table(num_classes=3), SCORES, LABELLED),
        (lambda: table(num_classes=3, labels=["a", "b", "c"], positive="b"), SCORES, LABELLED),
    ],
    "translation": [(translation, WRITTEN, {"target": np.array(["word", "other"], object)})],
}


@pytest.mark.parametrize("name", catalog.names("tasks"))
def test_the_metrics_are_those_that_it_names(name):
    for make, answers, targets in TASKS[name]:
        task = outline(make)
        assert set(task.metric_names) == set(task.measure(answers, targets))
        assert task.monitor in task.metric_names
