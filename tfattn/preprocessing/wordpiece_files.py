"""Files of a WordPiece tokenizer, vocab.txt and tokenizer_config.json, with the setting names of transformers."""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tfattn import files
from tfattn.preprocessing.characters import normalizer
from tfattn.preprocessing.code_points import Reference, check_reference, describe_reference
from tfattn.preprocessing.pieces import Pieces
from tfattn.preprocessing.segments import SequenceSettings
from tfattn.preprocessing.vocabulary import END, MAX_WORD_LENGTH, SPECIAL_TOKENS, START, UNKNOWN, Vocabulary

_VOCABULARY = "vocab.txt"
_SETTINGS = "tokenizer_config.json"


class Settings(SequenceSettings, Reference):
    """The content of tokenizer_config.json: sequences, normalization and the version of the reference."""

    tokenizer_class: str
    do_lower_case: bool
    strip_accents: bool


def write(folder: Path, pieces: Pieces, sequences: SequenceSettings) -> None:
    """Write both files into an existing folder."""
    files.write_text(Path(folder) / _VOCABULARY, "".join(f"{token}\n" for token in pieces.vocabulary.tokens))
    settings: Settings = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": pieces.lower_case,
        "strip_accents": pieces.strip_accents,
        **sequences,
        **describe_reference(pieces.characters.fingerprint),
    }
    files.write_json(Path(folder) / _SETTINGS, settings)


def wordpiece_json(path: Path, *, lower_case: bool | None, strip_accents: bool | None) -> str:
    """Return the content of the tokenizer.json of BERT's tokenizer.

    Args:
        path: a vocab.txt, or a tokenizer.json.
        lower_case: whether to fold case; None if the vocabulary has no capitals.
        strip_accents: whether to drop accents; None for the same as `lower_case`.
    """
    known = Vocabulary.read(path)
    lower_case = not known.has_capitals if lower_case is None else lower_case
    tokenizer = wordpiece_tokenizer(known.tokens, lower_case=lower_case, strip_accents=strip_accents)
    marks = ((token, tokenizer.token_to_id(token)) for token in (END, START))
    tokenizer.post_processor = processors.BertProcessing(*marks)
    tokenizer.add_special_tokens([token for token in SPECIAL_TOKENS if token in known.tokens])
    return tokenizer.to_str()


def wordpiece_tokenizer(
    tokens: Sequence[str], *, lower_case: bool, strip_accents: bool | None, unknown: str = UNKNOWN
) -> Tokenizer:
    """Return BERT's tokenizer of the package `tokenizers`, without special tokens.

    Args:
        tokens: the tokens, in the order of their ids.
        lower_case: whether to fold case.
        strip_accents: whether to drop accents; None for the same as `lower_case`.
        unknown: the token of unknown words.
    """
    ids = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=unknown, max_input_chars_per_word=MAX_WORD_LENGTH))
    strip_accents = lower_case if strip_accents is None else strip_accents
    tokenizer.normalizer = normalizer(lower_case=lower_case, strip_accents=strip_accents)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def read(folder: Path) -> tuple[Pieces, SequenceSettings]:
    """Read what `write` wrote.

    Raises:
        DataError: a file is missing or damaged, or the installed `tokenizers` treats characters differently from
            the version that wrote the folder.
    """
    path = Path(folder) / _SETTINGS
    settings = files.read_json(path, Settings, remedy="Prepare the data again.")
    known = Vocabulary.read(Path(folder) / _VOCABULARY)
    pieces = Pieces(known, lower_case=settings["do_lower_case"], strip_accents=settings["strip_accents"])
    check_reference(settings, pieces.characters.fingerprint, where=str(path))
    return pieces, settings
