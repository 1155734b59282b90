"""WordPiece vocabularies in a tokenizer.json."""

import json

import pytest
import tensorflow as tf
from tokenizers import BertWordPieceTokenizer

from tfattn.errors import DataError
from tfattn.preprocessing.vocabulary import Vocabulary
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.preprocessing.wordpiece_json import WordPieceJson

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "##s", "Dog"]


@pytest.fixture
def path(tmp_path):
    """Return a file that the package `tokenizers` writes."""
    written = BertWordPieceTokenizer({token: number for number, token in enumerate(TOKENS)}, lowercase=False)
    written.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def change(path, section, **values):
    content = json.loads(path.read_text())
    content[section] = {**content[section], **values}
    path.write_text(json.dumps(content))


def test_tokens_and_normalization(path):
    known = WordPieceJson.read(path)
    assert (list(known.tokens), known.lower_case, known.strip_accents) == (TOKENS, False, None)
    change(path, "normalizer", lowercase=True, strip_accents=False)
    assert (WordPieceJson.read(path).lower_case, WordPieceJson.read(path).strip_accents) == (True, False)


def test_a_tokenizer_reads_its_vocabulary(path):
    tokenizer = WordPiece(vocabulary=str(path))
    tokenizer.fit([])
    assert tokenizer({"text": tf.constant(["the Dogs"])})["token_ids"].to_list() == [[2, 5, 8, 7, 3]]
    assert tokenizer.lower_case is None and tokenizer.pieces.lower_case is False


@pytest.mark.parametrize(
    ("section", "values", "received"),
    [
        ("model", {"type": "Unigram"}, "received Unigram, ##, BertNormalizer"),
        ("model", {"continuing_subword_prefix": "@@"}, "received WordPiece, @@, BertNormalizer"),
        ("normalizer", {"type": "NFKC"}, "received WordPiece, ##, NFKC"),
    ],
)
def test_other_tokenizers_are_refused(path, section, values, received):
    change(path, section, **values)
    with pytest.raises(DataError, match=f"tokenizer.json: another tokenizer than BERT's: .*{received}"):
        Vocabulary.read(path)


def test_damaged_vocabularies_are_refused(path):
    change(path, "model", vocab={"[PAD]": 0, "a": 2})
    with pytest.raises(DataError, match="the ids of the vocabulary leave gaps"):
        Vocabulary.read(path)
    change(path, "model", vocab={"[PAD]": 0, "a": 1})
    with pytest.raises(DataError, match="the vocabulary lacks special tokens"):
        Vocabulary.read(path)
    path.write_text('{"model": {}}')
    with pytest.raises(DataError, match="tokenizer.json.*model.type"):
        Vocabulary.read(path)
