"""Every export of the catalog keeps the contract."""

from pathlib import Path

import keras
import numpy as np
import pytest

from tests.contracts.servable_model import check_servable_model
from tfattn import registry
from tfattn.models.bert import Bert
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.models.tab_m import TabM
from tfattn.models.transformer import Transformer
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.preprocessing.table import TableColumns
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.trained.ensemble import TrainedEnsemble

SIZES = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8}
LABELS = {"labels": ["leak", "noise", "ß"], "counts": [3, 2, 1]}
TARGETS = {
    "classification": LABELS,
    "multi_label_classification": LABELS | {"rows": 4},
    "regression": {"mean": 40.0, "deviation": 12.0},
}
TEXTS = [{"text": "the sorter leaks"}, {"text": "it is loud"}, {"text": ""}, {"text": "leaks leaks it the it"}]
PAIRS = [{"source": row["text"] or "it", "target": "loud sorter"} for row in TEXTS]
JOBS = ["a", "", "Straße"]
TABLE = [
    {"age": str(20 + 7 * number), "size": "?" if number == 2 else str(number**2), "job": JOBS[number % 3]}
    for number in range(6)
]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "sorter", "leaks", "it", "is", "loud"]


def text_model(number, folder):
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("".join(f"{word}\n" for word in WORDS))
    reader = WordPiece(vocabulary=str(vocabulary), max_length=8)
    reader.fit([])
    return reader, Bert(vocabulary_size=len(WORDS), max_sequence_length=8, initializer_range=0.5, **SIZES)


def table_model(number, folder):
    reader = TableColumns(numeric=("age", "size"), categorical=("job",), scaling="quantile")
    reader.fit(TABLE[number:])
    sizes = {name: value for name, value in SIZES.items() if name != "intermediate_dim"}
    return reader, FeatureTokenizerTransformer(**reader.sizes, **sizes)


def member_model(number, folder):
    reader = table_model(number, folder)[0]
    return reader, TabM(**reader.sizes, num_members=3, hidden_dim=8)


def translator(number, folder):
    reader = SentencePiece(model_type="word", vocabulary_size=14, max_length=8)
    reader.fit(PAIRS)
    return reader, Transformer(**reader.sizes, max_sequence_length=8, dropout=0.0, **SIZES)


def ensemble(name, model, folder, models):
    members = []
    for number in range(models):
        keras.utils.set_random_seed(number)
        reader, built = model(number, folder)
        known = {"targets": TARGETS[name]} if name in TARGETS else {"preprocessor": reader}
        task = registry.find("tasks", name)(model=built, **known)
        if name in TARGETS:
            task.head.kernel.assign(np.random.default_rng(number).normal(size=task.head.kernel.shape))
        members.append((reader, task))
    return TrainedEnsemble(members)


# Those that have more to be asked are held to the contract in files of their own.
APART = {
    "bert_pretraining": "fill_mask",
    "bidirectional_language_modeling": "word_features",
    "chat": "generation",
    "embedding": "embedding",
    "language_modeling": "generation",
    "masked_lm": "fill_mask",
    "multiple_choice": "multiple_choice",
    "preference_optimization": "generation",
    "question_answering": "question_answering",
    "ranking": "ranking",
    "token_classification": "tagging",
    "word2vec": "word_vectors",
}


ROWS = {text_model: (TEXTS, 1), table_model: (TABLE, 2), member_model: (TABLE, 1), translator: (PAIRS, 1)}
CASES = [
    ("classification", text_model),
    *((name, table_model) for name in TARGETS),
    ("regression", member_model),
    ("translation", translator),
]
# Of these, both sides are in a case above.
COMBINED = [pytest.param(name, text_model, marks=pytest.mark.slow) for name in TARGETS if name != "classification"]


@pytest.mark.parametrize(("name", "model"), [*CASES, *COMBINED])
def test_contract(name, model, tmp_path):
    rows, models = ROWS[model]
    (tmp_path / "export").mkdir()
    outputs = check_servable_model(
        registry.find("served", name),
        ensemble(name, model, tmp_path, models),
        rows,
        folder=tmp_path / "export",
        litert=model is text_model or name == "regression",
    )
    if name == "regression":
        assert outputs["prediction"].shape == (len(rows),) and np.ptp(outputs["prediction"]) > 0
    if name == "multi_label_classification":
        assert outputs["is_label"].dtype == bool and outputs["scores"].shape == (len(rows), 3)
    if name == "classification":
        assert ("probability" in outputs) == (model is table_model)


def test_every_export_has_a_contract_test():
    assert {name for name, _ in CASES} | APART.keys() == set(registry.names("served"))


@pytest.mark.parametrize("name", APART)
def test_the_contract_is_checked_elsewhere(name):
    assert "check_servable_model(" in Path(__file__).with_name(f"test_{APART[name]}.py").read_text()
