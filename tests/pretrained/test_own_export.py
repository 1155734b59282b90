"""Exports of our own as published weights: of an encoder or a decoder, whatever it was trained for."""

import pytest

from tests.pretrained import decoders
from tests.pretrained.conftest import VOCABULARY
from tests.pretrained.exports import write_export
from tfattn import pretrained
from tfattn.errors import CheckpointError, ConfigError
from tfattn.models.bert import Bert
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
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


def test_texts_are_read_as_it_was_trained(tmp_path, tiny):
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
    assert weights.tokenization() == {"vocabulary": known, "pattern": "digits", "end_token": special[0]}
    assert (weights.preprocessor, weights.max_length) == ("byte_bpe", 9)


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


def test_what_reads_no_texts_is_refused(tmp_path, tiny):
    folder = write_export(tmp_path / "1", tiny, VOCABULARY, preprocessor="table")
    with pytest.raises(
        CheckpointError, match="cannot be adopted: expected the vocabulary of wordpiece, byte_bpe.*received tab"
    ):
        pretrained.open(folder).sizes()


def test_a_vocabulary_that_is_missing(tmp_path, tiny):
    folder = write_export(tmp_path / "1", tiny, VOCABULARY)
    (folder / "assets/vocab.txt").unlink()
    with pytest.raises(CheckpointError, match="1: a file is missing: expected assets/vocab.txt"):
        pretrained.open(folder).sizes()


def test_an_export_is_found_by_its_name(tmp_path, tiny):
    folder = tmp_path / "saved_models"
    write_export(folder / "mine" / "3", tiny, VOCABULARY)
    assert pretrained.find("mine", folder).folder == folder / "mine" / "3"
    assert pretrained.find(str(folder / "mine"), folder).folder == folder / "mine" / "3"
    with pytest.raises(ConfigError, match=r"received 'mien'. Did you mean `mine`\?"):
        pretrained.find("mien", folder)
    with pytest.raises(ConfigError, match=r"minilm.*there are none yet, received 'minil'. Did you mean `minilm`\?"):
        pretrained.find("minil", tmp_path / "nowhere")
