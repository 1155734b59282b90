"""The contract of every task of the catalog."""

from pathlib import Path

import keras
import numpy as np
import pytest

from tests.contracts.task import check_task
from tfattn import registry
from tfattn.models.bert import Bert
from tfattn.models.feature_map_transformer import FeatureMapTransformer
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.models.gpt import Gpt
from tfattn.models.modern_bert import ModernBert
from tfattn.models.tab_m import TabM
from tfattn.models.transformer import Transformer
from tfattn.models.vit import Vit

SIZES = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2}
DRAW = np.random.default_rng(0)
MASK = np.arange(5) < np.array([5, 3, 4, 2])[:, None]
TEXTS = {"token_ids": np.where(MASK, DRAW.integers(1, 9, (4, 5)), 0).astype("int32"), "padding_mask": MASK}
NUMBERS = {"numeric": DRAW.normal(size=(4, 14)).astype("float32")}
CLASSES = {"label_ids": np.array([0, 1, 1, 2], "int32")}
TWO = {"label_ids": np.array([0, 1, 1, 0], "int32")}
SETS = {"label_indicators": np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 1]], "int32")}
VALUES = {"target_values": np.array([30.0, 41.5, 50.0, 12.0], "float32")}
WRITTEN = {
    "target_ids": np.array([[1, 4, 5, 2], [1, 6, 2, 0], [1, 2, 0, 0], [1, 3, 3, 2]], "int32"),
    "target_padding_mask": np.arange(4) < np.array([4, 3, 2, 4])[:, None],
}
HIDDEN = {
    "masked_lm_positions": np.array([[1, 3], [2, 0], [0, 0], [1, 0]], "int32"),
    "masked_lm_ids": np.array([[4, 5], [6, 0], [0, 0], [3, 0]], "int32"),
    "masked_lm_weights": np.array([[1, 1], [1, 0], [0, 0], [1, 0]], "float32"),
}
FOLLOWS = {"next_sentence_labels": np.array([0, 1, 1, 0], "int32")}
PACKED = {"sequence_ids": np.where(MASK, np.where(np.arange(5) < 2, 1, 2), 0).astype("int32")}
IMAGES = {"images": DRAW.random((4, 8, 8, 3), np.float32)}
SEVEN_LABELS = {"labels": list("abcdefg"), "counts": [1] * 7}
THREE_LABELS = {"labels": ["a", "b", "c"], "counts": [1, 1, 1]}
NUMBER = {"mean": 40.0, "deviation": 12.0}


class Words:
    """Writes the same word whatever it is."""

    target_fields = ("target",)
    start_id, end_id, suppressed_ids = 1, 2, (0, 1)

    def detokenize(self, token_ids):
        return np.array([b"word"] * len(token_ids), object).view(Texts)


class Tokens:
    """Tells what its tokens stand for."""

    token_bytes = (b"", b"a", b" b", b"c ", b" ", b"\n", b"d e", b"f", b"g")

    def detokenize(self, token_ids):
        raise NotImplementedError


class Texts(np.ndarray):
    """Of a tensor it has `numpy`."""

    def numpy(self):
        return self


def encoder():
    return Bert(vocabulary_size=9, intermediate_dim=8, max_sequence_length=8, initializer_range=0.3, **SIZES)


def modern_encoder():
    return ModernBert(vocabulary_size=9, intermediate_dim=8, max_sequence_length=8, initializer_range=0.3, **SIZES)


def tokens():
    return FeatureTokenizerTransformer(num_numeric=14, category_counts=[], **SIZES)


def members():
    return TabM(num_numeric=14, category_counts=[], num_members=3, hidden_dim=8)


def feature_map():
    return FeatureMapTransformer(num_numeric=14, category_counts=[])


def image_encoder():
    return Vit(image_size=8, patch_size=4, intermediate_dim=8, **SIZES)


def translator():
    return Transformer(
        vocabulary_size=9, target_vocabulary_size=9, intermediate_dim=8, max_sequence_length=8, dropout=0.0, **SIZES
    )


def decoder():
    return Gpt(vocabulary_size=9, intermediate_dim=8, max_sequence_length=8, dropout=0.0, **SIZES)


def of(name, model, **options):
    """Makes a task."""
    return lambda: registry.find("tasks", name)(model=model(), **options)


TASKS = {
    "bert_pretraining": [(encoder, {}, TEXTS | HIDDEN | FOLLOWS), (modern_encoder, {}, TEXTS | HIDDEN | FOLLOWS)],
    "chat": [(decoder, {"preprocessor": Tokens(), "label_smoothing": 0.1}, TEXTS | PACKED | {"loss_mask": MASK})],
    "language_modeling": [(decoder, {"preprocessor": Tokens()}, TEXTS)],
    "masked_lm": [(encoder, {}, TEXTS | HIDDEN), (modern_encoder, {}, TEXTS | HIDDEN | PACKED)],
    "classification": [
        (encoder, {"targets": THREE_LABELS, "dropout": 0.0}, TEXTS | CLASSES),
        (image_encoder, {"targets": SEVEN_LABELS, "label_smoothing": 0.1}, IMAGES | CLASSES),
        (feature_map, {"targets": {"labels": None, "counts": [1, 1]}}, NUMBERS | TWO),
        (tokens, {"targets": THREE_LABELS}, NUMBERS | CLASSES),
        (tokens, {"targets": THREE_LABELS, "positive": "b"}, NUMBERS | CLASSES),
        (members, {"targets": THREE_LABELS}, NUMBERS | CLASSES),
    ],
    "multi_label_classification": [
        (encoder, {"targets": THREE_LABELS | {"rows": 4}, "class_weights": "balanced"}, TEXTS | SETS),
        (image_encoder, {"targets": THREE_LABELS | {"rows": 4}}, IMAGES | SETS),
        (
            tokens,
            {"targets": THREE_LABELS | {"rows": 4}, "class_weights": {"b": 2.0}, "threshold": 0.4},
            NUMBERS | SETS,
        ),
    ],
    "regression": [
        (encoder, {"targets": NUMBER, "loss": "huber", "pooling": "cls"}, TEXTS | VALUES),
        (image_encoder, {"targets": NUMBER}, IMAGES | VALUES),
        (feature_map, {"targets": NUMBER, "loss": "mean_absolute_error"}, NUMBERS | VALUES),
    ],
    "translation": [(translator, {"preprocessor": Words()}, TEXTS | WRITTEN)],
}
# Those whose targets are places in texts, or whose rows are several, are held to the contract in files of their own.
APART = (
    "bidirectional_language_modeling",
    "embedding",
    "multiple_choice",
    "preference_optimization",
    "question_answering",
    "ranking",
    "token_classification",
    "word2vec",
)
CASES = [(name, *case) for name in registry.names("tasks") if name not in APART for case in TASKS[name]]


@pytest.mark.parametrize(("name", "model", "options", "batch"), CASES, ids=[case[0] for case in CASES])
def test_contract(name, model, options, batch, tmp_path):
    keras.utils.set_random_seed(1)
    weighted = batch | {"weights": np.ones(4, "float32")}
    texts = {"target": np.array(["word", "other", "word", ""], object)} if "target_ids" in batch else None
    check_task(of(name, model, **options), weighted, folder=tmp_path, texts=texts)


@pytest.mark.parametrize("name", APART)
def test_the_contract_is_checked_elsewhere(name):
    assert "check_task(" in Path(__file__).with_name(f"test_{name}.py").read_text()
