"""An index of texts: exact search, checks of the encoder, and the commands."""

import json
import shutil

import keras
import numpy as np
import pytest

from tfattn import files
from tfattn.errors import ConfigError, DataError, ServingError
from tfattn.export.embedding import Embedder
from tfattn.export.saved_model import export
from tfattn.export.section import Export
from tfattn.models.bert import Bert
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.retrieval.text_encoder import ExportedEncoder
from tfattn.retrieval.text_index import Document, TextIndex
from tfattn.tasks.embedding import Embedding
from tfattn.trained.ensemble import TrainedEnsemble

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "q", ":", *"abcdefgh"]
TEXTS = ["a b", "c", "d e f", "g h a b c d", "h"]
ROWS = [{"anchor": "a", "positive": "b c", "row": "x:1"}, {"anchor": "d", "positive": "e", "row": "x:2"}]


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """The export `one`, and `other`, which differs in its vocabulary."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    keras.utils.set_random_seed(1)
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16, "max_sequence_length": 16}
    model = Bert(vocabulary_size=len(WORDS), initializer_range=0.7, **sizes)
    facts = {"columns": ["anchor", "positive"], "prompts": {"anchor": "q : "}}
    task = Embedding(model=model, targets={"scored": False}, examples=facts)
    tokenizer = WordPiece(vocabulary=str(folder / "vocab.txt"), max_length=16)
    tokenizer.fit([])
    ensemble = TrainedEnsemble([(tokenizer, task)])
    vectors = ensemble.predict([{"text": "q : a"}, {"text": "e"}])["embedding"]
    expected = {"embedding": np.stack([vectors, vectors], axis=1)}
    section = Export(folder=str(folder / "saved_models"), version="next")
    version = export(
        Embedder(ensemble), name="one", section=section, rows=ROWS, expected=expected, config="name: one\n"
    )
    other = shutil.copytree(version, folder / "saved_models" / "other" / version.name)
    with open(other / "assets" / "vocab.txt", "a") as file:
        file.write("more\n")
    files.write_manifest(other, model="other", made_of="")
    return folder / "saved_models"


@pytest.fixture(scope="module")
def encoder(exports):
    return ExportedEncoder("one", exports)


def test_the_encoder_adds_the_prompts_of_the_export(encoder):
    assert (encoder.width, encoder.query_prompt, encoder.document_prompt) == (8, "q : ", "")
    with_prompt = encoder.encode(["a"], prompt="q : ")
    np.testing.assert_allclose(with_prompt, encoder.encode(["q : a"], prompt=""), rtol=1e-6)
    assert np.abs(with_prompt - encoder.encode(["a"], prompt="")).max() > 1e-3
    cut = encoder.encode(["a"], prompt="", dimensions=3)
    assert cut.shape == (1, 3) and np.linalg.norm(cut) == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("dimensions", [None, 4])
def test_search_is_exact(encoder, tmp_path, dimensions):
    index = TextIndex.build(TEXTS, tmp_path / "index", encoder=encoder, dimensions=dimensions)
    assert len(index) == 5
    queries = ["c d", "h"]
    vectors = encoder.encode(TEXTS, prompt="", dimensions=dimensions)
    cosines = encoder.encode(queries, prompt="q : ", dimensions=dimensions) @ vectors.T
    again = TextIndex(tmp_path / "index", encoder=encoder)
    for found, expected in zip(again.search_all(queries, 3), cosines, strict=True):
        order = np.argsort(-expected)[:3]
        assert [hit.text for hit in found] == [TEXTS[number] for number in order]
        assert [hit.id for hit in found] == [str(number) for number in order]
        np.testing.assert_allclose([hit.score for hit in found], expected[order], atol=1e-5)
    assert len(again.search("a", 100)) == 5


def test_an_index_of_another_encoder_is_refused(encoder, exports, tmp_path):
    TextIndex.build([Document("x", "a b")], tmp_path / "index", encoder=encoder)
    with pytest.raises(DataError, match="made by another encoder.*expected the export .*/one/1.*Make the index again"):
        TextIndex(tmp_path / "index", encoder="other", exports=exports)
    assert TextIndex(tmp_path / "index").search("a", 1)[0].id == "x"


def test_an_empty_corpus_is_refused_and_leaves_the_old_index(encoder, tmp_path):
    TextIndex.build(["a"], tmp_path / "index", encoder=encoder)
    for texts in ([], ["", "  "]):
        with pytest.raises(DataError, match="there is nothing to index: expected at least one text"):
            TextIndex.build(texts, tmp_path / "index", encoder=encoder)
    assert len(TextIndex(tmp_path / "index", encoder=encoder)) == 1


def test_more_dimensions_than_the_export_has_are_refused(encoder, tmp_path):
    with pytest.raises(ConfigError, match="fewer dimensions: expected at most 8, received 9"):
        TextIndex.build(["a"], tmp_path / "index", encoder=encoder, dimensions=9)
    assert not (tmp_path / "index").exists()


def test_a_folder_that_is_no_index_is_not_replaced(encoder, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="the folder is not an index"):
        TextIndex.build(["a"], tmp_path, encoder=encoder)
    with pytest.raises(DataError, match="tfattn index"):
        TextIndex(tmp_path, encoder=encoder)


def test_an_export_of_another_task_is_refused(exports, tmp_path):
    shutil.copytree(exports / "one", tmp_path / "one")
    (card,) = (tmp_path / "one").glob("*/assets.extra/card.json")
    files.write_json(card, {**json.loads(card.read_text()), "task": "classification"})
    files.write_manifest(card.parents[1], model="one", made_of="")
    with pytest.raises(ServingError, match="returns no vectors of texts: expected an export of the task embedding"):
        ExportedEncoder(tmp_path / "one")


def test_the_commands(command, exports, tmp_path):
    (tmp_path / "texts.csv").write_text('id,body\nx1,a b\nx2,"c\nd"\n')
    options = ["--folder", str(exports)]
    made = command(
        "index", "one", str(tmp_path / "texts.csv"), "--column", "body", "--output", str(tmp_path / "i"), *options
    )
    assert made.status == 0, made.errors
    assert "index: 2 texts of 8 dimensions" in made.errors
    found = command("search", str(tmp_path / "i"), "c", "--k", "2", *options)
    assert found.status == 0, found.errors
    lines = found.output.splitlines()
    assert len(lines) == 2 and {line.split("  ")[1] for line in lines} == {"x1", "x2"} and "  c d" in found.output
    refused = command("search", str(tmp_path / "i"), "c", "--encoder", "other", *options)
    assert refused.status == 1 and "made by another encoder" in refused.errors
