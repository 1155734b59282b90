"""Tokenizer files in folders of Hugging Face: tokenizer.json, or the older files of each architecture."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from tfattn.errors import CheckpointError, DataError, listed
from tfattn.preprocessing import sentencepiece_proto as proto
from tfattn.preprocessing.byte_vocabulary import MERGES, VOCABULARY, ByteVocabulary
from tfattn.preprocessing.unigram_pieces import SPACE
from tfattn.preprocessing.vocabulary import Vocabulary
from tfattn.preprocessing.wordpiece_files import wordpiece_tokenizer
from tfattn.pretrained.hugging_face import SENTENCEPIECE, SETTINGS, TOKENIZER, WORDS, Settings, tokenizer_settings

# Special tokens, of XLM-R by id; <mask> is the last token.
XLM_ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def published(folder: Path, model_type: str, vocabulary_size: int) -> dict[str, Any]:
    """Return the arguments of `PretrainedTokenizer.adopt`.

    Args:
        folder: the folder of the published model.
        model_type: the architecture, which has files of its own in older folders.
        vocabulary_size: the number of token vectors of the model.

    Raises:
        CheckpointError: there is no tokenizer.
        DataError: a file is damaged.
    """
    found = tokenizer_settings(folder)
    if (folder / TOKENIZER).is_file():
        text = (folder / TOKENIZER).read_text(encoding="utf-8")
    else:
        names, make = _OLDER.get(model_type, ((), None))
        if make is None or not all((folder / name).is_file() for name in names):
            expected = listed([TOKENIZER, " and ".join(names)] if names else [TOKENIZER])
            raise CheckpointError("a file is missing", where=str(folder), expected=expected)
        text = make(folder, found).to_str()
    mask = found.get("mask_token")
    mask = mask.get("content") if isinstance(mask, dict) else mask
    return {"tokenizer": text, "mask_token": mask, "vocabulary_size": vocabulary_size}


def _byte_level(folder: Path, settings: Settings) -> Tokenizer:
    """Return the tokenizer of RoBERTa from vocab.json and merges.txt."""
    vocabulary = ByteVocabulary.read(folder, special=None)
    ids = {token: number for number, token in enumerate(vocabulary.tokens)}
    tokenizer = Tokenizer(models.BPE(ids, list(vocabulary.merges)))
    has_prefix = bool(settings.get("add_prefix_space", False))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=has_prefix)
    return _of_roberta(tokenizer, XLM_ROBERTA, settings)


def _of_roberta(tokenizer: Tokenizer, names: Sequence[str], settings: Settings) -> Tokenizer:
    """Return a tokenizer with the sequences and the special tokens of RoBERTa."""
    marks = ((name, tokenizer.token_to_id(name)) for name in ("</s>", "<s>"))
    tokenizer.post_processor = processors.RobertaProcessing(*marks)
    return _with_special(tokenizer, names, settings, mask_takes_space=True)


def _wordpiece_of_mpnet(folder: Path, settings: Settings) -> Tokenizer:
    """Return the tokenizer of MPNet from vocab.txt: BERT's with the special tokens of RoBERTa."""
    tokens = Vocabulary.read(folder / WORDS, special=("<s>", "</s>", "[UNK]")).tokens
    lower_case, strip_accents = settings.get("do_lower_case", True), settings.get("strip_accents")
    tokenizer = wordpiece_tokenizer(tokens, lower_case=lower_case, strip_accents=strip_accents)
    return _of_roberta(tokenizer, ("<s>", "<pad>", "</s>", "[UNK]", "<mask>"), settings)


def _sentencepiece_of_xlm_roberta(folder: Path, settings: Settings) -> Tokenizer:
    """Return the tokenizer of XLM-R, whose ids have other special tokens than the model of SentencePiece."""
    pieces, rules = _read(folder / SENTENCEPIECE[0])
    pieces = [*((name, 0.0) for name in XLM_ROBERTA[:-1]), *pieces[3:], (XLM_ROBERTA[-1], 0.0)]
    return xlm_roberta(pieces, rules, settings)


def xlm_roberta(pieces: Sequence[tuple[str, float]], rules: bytes, settings: Settings) -> Tokenizer:
    """Return the tokenizer of XLM-R.

    Args:
        pieces: the pieces and their scores, in the order of their ids; the special tokens XLM_ROBERTA are among them.
        rules: the compiled replacements of characters; empty if there are none.
        settings: the content of tokenizer_config.json; empty if there is none.
    """
    tokenizer = _unigram(pieces, "<unk>", normalizers.Precompiled(rules) if rules else None, splits=True)
    tokenizer.post_processor = _template(tokenizer, "<s> $A </s>", "<s> $A </s> </s> $B </s>", ("<s>", "</s>"))
    return _with_special(tokenizer, XLM_ROBERTA, settings, mask_takes_space=True)


def _sentencepiece_of_albert(folder: Path, settings: Settings) -> Tokenizer:
    """Return the tokenizer of ALBERT."""
    pieces, rules = _read(folder / "spiece.model")
    # A number and its comma are two pieces.
    pieces = [(text, score - 100 if text[-2:-1].isdigit() and text[-1] == "," else score) for text, score in pieces]
    steps = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not settings.get("keep_accents", False):
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    steps += [normalizers.Lowercase()] if settings.get("do_lower_case", True) else []
    steps += [normalizers.Precompiled(rules)] if rules else []
    tokenizer = _unigram(pieces, "<unk>", normalizers.Sequence(steps), splits=True)
    tokenizer.post_processor = _bert_template(tokenizer)
    return _with_special(tokenizer, ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"), settings, mask_takes_space=True)


def _sentencepiece_of_deberta(folder: Path, settings: Settings) -> Tokenizer:
    """Return the tokenizer of DeBERTa v2 and v3, whose mask is after the pieces."""
    if settings.get("split_by_punct", False):
        raise CheckpointError(
            "not supported", where=str(folder / SETTINGS), expected="split_by_punct to be False", received="True"
        )
    pieces, rules = _read(folder / "spm.model")
    steps = [normalizers.Lowercase()] if settings.get("do_lower_case", False) else []
    steps += [normalizers.Strip()]
    steps += [normalizers.Precompiled(rules)] if rules else []
    tokenizer = _unigram(
        pieces, "[UNK]", normalizers.Sequence([*steps, _JOINED_BLANKS, normalizers.Strip()]), splits=False
    )
    tokenizer.post_processor = _bert_template(tokenizer)
    return _with_special(tokenizer, ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"), settings, mask_takes_space=False)


def _unigram(
    pieces: Sequence[tuple[str, float]], unknown: str, normalizer: normalizers.Normalizer | None, *, splits: bool
) -> Tokenizer:
    """Return a tokenizer of unigram pieces; `splits` at all white space, else at blanks."""
    numbers = [number for number, (text, _) in enumerate(pieces) if text == unknown]
    if not numbers:
        raise DataError("the SentencePiece model lacks special tokens", expected=unknown, received="no such piece")
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=numbers[0]))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    metaspace = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")
    steps = [pre_tokenizers.WhitespaceSplit(), metaspace] if splits else [metaspace]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    return tokenizer


def _read(path: Path) -> tuple[list[tuple[str, float]], bytes]:
    """Read the pieces and the compiled rules of a SentencePiece model."""
    model = proto.Proto.decode(path.read_bytes(), str(path))
    return [(piece.text, piece.score) for piece in model.pieces], proto.normalizer_rules(model.normalizer)


def _bert_template(tokenizer: Tokenizer) -> processors.TemplateProcessing:
    return _template(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ("[CLS]", "[SEP]"))


def _template(tokenizer: Tokenizer, single: str, pair: str, names: Sequence[str]) -> processors.TemplateProcessing:
    ids = [(name, tokenizer.token_to_id(name)) for name in names]
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)


def _with_special(
    tokenizer: Tokenizer, names: Sequence[str], settings: Settings, *, mask_takes_space: bool
) -> Tokenizer:
    """Return the tokenizer with special tokens.

    Args:
        tokenizer: the tokenizer, which is changed.
        names: the special tokens; the last is the mask.
        settings: the content of tokenizer_config.json, which may describe the mask.
        mask_takes_space: whether the mask takes the white space before it, if the settings do not say.
    """
    *others, mask = names
    described = settings.get("mask_token")
    takes_space = described.get("lstrip", False) if isinstance(described, dict) else mask_takes_space
    tokens = [AddedToken(name, special=True) for name in others]
    tokenizer.add_special_tokens([*tokens, AddedToken(mask, special=True, lstrip=takes_space)])
    return tokenizer


_JOINED_BLANKS = normalizers.Replace(Regex(" {2,}"), " ")
# The files of an architecture before tokenizer.json, and the function that reads them.
_OLDER: dict[str, tuple[tuple[str, ...], Callable[[Path, Settings], Tokenizer]]] = {
    "roberta": ((VOCABULARY, MERGES), _byte_level),
    "xlm-roberta": (SENTENCEPIECE, _sentencepiece_of_xlm_roberta),
    "bert": (SENTENCEPIECE, _sentencepiece_of_xlm_roberta),  # as the multilingual E5 models
    "albert": (("spiece.model",), _sentencepiece_of_albert),
    "mpnet": ((WORDS,), _wordpiece_of_mpnet),
    "deberta-v2": (("spm.model",), _sentencepiece_of_deberta),
}
