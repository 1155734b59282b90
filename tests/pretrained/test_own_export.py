"""Exports of tfattn as pretrained weights: encoders and decoders of any task."""

from dataclasses import replace

import pytest

from tests.preprocessing.published_tokens import ROWS, tokenizer, vocabulary
from tests.preprocessing.test_piece_bpe import trained
from tests.pretrained import decoders
from tests.pretrained.conftest import VOCABULARY
from tests.pretrained.exports import write_export
from tfattn import pretrained
from tfattn.errors import CheckpointError, ConfigError
from tfattn.models.bert import Bert
from tfattn.models.gpt import Gpt
from tfattn.models.transformer import Transformer
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
from tfattn.preprocessing.piece_bpe import PieceBpe
from tfattn.preprocessing.piece_vocabulary import PieceVocabulary
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.preprocessing.whole_tokens import CharacterTokens, WordTokens


def test_import_of_the_newest_version(tmp_path, tiny, same_weights):
    other = Bert(**{**tiny.get_config(), "num_layers": 1})
    write_export(tmp_path / "mine/9", other, VOCABULARY)
    write_export(tmp_path / "mine/10", tiny, VOCABULARY)
    weights = pretrained.open(tmp_path / "mine")
    sizes = weights.sizes()
    assert weights.model == "bert"
    bert = Bert(**sizes)
    weights.load_into(bert)
    same_weights(bert, tiny)


def test_tokenization_is_that_of_the_training(tmp_path, tiny):
    columns = {"text_a": "sentence1", "text_b": "sentence2"}
    folder = write_export(tmp_path / "1", tiny, VOCABULARY, columns=columns, model_max_length=9, strip_accents=False)
    weights = pretrained.open(folder)
    folding = {"vocabulary": folder / "assets/vocab.txt", "lower_case": True, "strip_accents": False}
    assert weights.tokenization() == folding and weights.max_length == 9
    assert weights.trained_on.columns == columns and weights.trained_on.suffix == ".csv"


def test_a_decoder_and_its_tokens(tmp_path, same_weights):
    gpt = decoders.random_gpt(tied=False)
    folder = write_export(tmp_path / "1", gpt, decoders.TOKENS, name="gpt", preprocessor="byte_bpe")
    tokenizer, special = ByteBpe(vocabulary="pretrained", max_length=9), tuple(reversed(decoders.SPECIAL))
    known = ByteVocabulary(decoders.TOKENS, tuple(decoders.MERGES), special)
    tokenizer.adopt(vocabulary=known, pattern="digits", end_token=special[0])
    tokenizer.fit([])
    tokenizer.save(folder / "assets")
    weights = pretrained.open(folder)
    loaded = Gpt(**weights.sizes())
    assert weights.load_into(loaded).unused == []
    same_weights(loaded, gpt)
    read = weights.tokenization()
    assert (read["vocabulary"], read["pattern"], read["end_token"]) == (known, "digits", special[0])
    assert (read["start_token"], read["normalization"], read["chat_format"]) == (None, None, "chatml")
    assert (weights.preprocessor, weights.max_length) == ("byte_bpe", 9)


def test_a_decoder_with_all_options_of_tokens(tmp_path):
    gpt = decoders.random_gpt(**decoders.LLAMA)
    folder = write_export(tmp_path / "1", gpt, decoders.TOKENS, name="gpt", preprocessor="byte_bpe")
    known = ByteVocabulary(decoders.TOKENS, tuple(decoders.MERGES), decoders.SPECIAL[:2], decoders.SPECIAL[2:], True)
    options = {"start_token": decoders.SPECIAL[1], "normalization": "nfc", "chat_format": "llama3"}
    given = {"vocabulary": known, "pattern": "llama3", "end_token": decoders.END, **options}
    tokenizer = ByteBpe(vocabulary="pretrained", max_length=9)
    tokenizer.adopt(**given)
    tokenizer.fit([])
    tokenizer.save(folder / "assets")
    assert pretrained.open(folder).tokenization() == given


def test_a_decoder_with_pieces(tmp_path):
    known = PieceVocabulary.read(trained("llama"), where="")
    gpt = decoders.random_gpt(vocabulary_size=len(known.tokens))
    folder = write_export(tmp_path / "1", gpt, [], name="gpt", preprocessor="piece_bpe")
    given = {"vocabulary": replace(known, prefix="unless_blank"), "end_token": "</s>", "start_token": "<s>"}
    tokenizer = PieceBpe(max_length=9)
    tokenizer.adopt(**given, chat_format="gemma")
    tokenizer.fit([])
    tokenizer.save(folder / "assets")
    weights = pretrained.open(folder)
    read = weights.tokenization()
    assert (read["vocabulary"].content, read["vocabulary"].prefix) == (given["vocabulary"].content, "unless_blank")
    assert {**read, "vocabulary": None} == {**given, "vocabulary": None, "chat_format": "gemma"}
    assert (weights.sizes()["vocabulary_size"], weights.preprocessor) == (len(known.tokens), "piece_bpe")


@pytest.mark.parametrize("sides", [1, 2])
def test_a_translator_and_its_published_tokens(tmp_path, same_weights, sides):
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 12}
    pieces = tokenizer(*[vocabulary()] * sides, max_length=9)
    model = Transformer(**pieces.sizes, **sizes)
    folder = write_export(tmp_path / "1", model, [], name="transformer", preprocessor="sentencepiece")
    pieces.save(folder / "assets")
    weights = pretrained.open(folder)
    loaded = Transformer(**weights.sizes())
    weights.load_into(loaded)
    same_weights(loaded, model)
    assert weights.tokenization() == {"vocabularies": [vocabulary()] * sides}
    assert (weights.preprocessor, weights.max_length) == ("sentencepiece", 9)


def test_trained_pieces_are_not_adopted(tmp_path):
    pieces = SentencePiece(vocabulary_size=40, model_type="word")
    pieces.fit(ROWS)
    model = Transformer(**pieces.sizes, hidden_dim=8, num_layers=1, num_heads=2, intermediate_dim=12)
    folder = write_export(tmp_path / "1", model, [], name="transformer", preprocessor="sentencepiece")
    pieces.save(folder / "assets")
    with pytest.raises(CheckpointError, match="cannot be adopted: expected the vocabulary of .*received sentencepiece"):
        pretrained.open(folder).sizes()


@pytest.mark.parametrize(("kind", "name"), [(CharacterTokens, "characters"), (WordTokens, "words")])
def test_a_decoder_of_whole_tokens(tmp_path, kind, name):
    known, other = kind(max_length=9), kind(vocabulary="pretrained")
    known.fit([{"text": "to be or not to be"}])
    with pytest.raises(ConfigError, match="no pretrained model whose vocabulary"):
        other.fit([])
    gpt = decoders.random_gpt(**known.sizes)
    folder = write_export(tmp_path / "1", gpt, known.tokens, name="gpt", preprocessor=name)
    known.save(folder / "assets")
    weights = pretrained.open(folder)
    assert weights.preprocessor == name and weights.sizes()["vocabulary_size"] == len(known.tokens)
    other.adopt(**weights.tokenization())
    other.fit([{"text": "not read"}])
    assert other.tokens == known.tokens and set(other.adopted) == {"vocabulary"}


def test_models_without_texts_are_refused(tmp_path, tiny):
    folder = write_export(tmp_path / "1", tiny, VOCABULARY, preprocessor="table")
    with pytest.raises(
        CheckpointError, match="cannot be adopted: expected the vocabulary of wordpiece, .*byte_bpe.*received tab"
    ):
        pretrained.open(folder).sizes()


def test_a_missing_vocabulary_is_reported(tmp_path, tiny):
    folder = write_export(tmp_path / "1", tiny, VOCABULARY)
    (folder / "assets/vocab.txt").unlink()
    with pytest.raises(CheckpointError, match="1: a file is missing: expected assets/vocab.txt"):
        pretrained.open(folder).sizes()


def test_exports_are_found_by_name(tmp_path, tiny):
    folder = tmp_path / "saved_models"
    write_export(folder / "mine" / "3", tiny, VOCABULARY)
    assert pretrained.find("mine", folder).folder == folder / "mine" / "3"
    assert pretrained.find(str(folder / "mine"), folder).folder == folder / "mine" / "3"
    with pytest.raises(ConfigError, match=r"received 'mien'. Did you mean `mine`\?"):
        pretrained.find("mien", folder)
    with pytest.raises(ConfigError, match=r"minilm.*there are none yet, received 'minil'. Did you mean `minilm`\?"):
        pretrained.find("minil", tmp_path / "nowhere")
