"""Files of a WordPiece tokenizer, vocab.txt and tokenizer_config.json, with the setting names of transformers."""

from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from tfattn import files
from tfattn.preprocessing.pieces import Pieces
from tfattn.preprocessing.preprocessor import Located
from tfattn.preprocessing.reference import Reference, check_reference, reference_of
from tfattn.preprocessing.vocabulary import Vocabulary

_VOCABULARY = "vocab.txt"
_SETTINGS = "tokenizer_config.json"


class Sequences(TypedDict):
    """The settings of sequences."""

    model_max_length: int
    doc_stride: int | None
    max_query_length: NotRequired[int]
    located: NotRequired[Located]
    fields: list[str]


class Settings(Sequences, Reference):
    """The content of tokenizer_config.json: sequences, normalization and the version of the reference."""

    tokenizer_class: str
    do_lower_case: bool
    strip_accents: bool


def write(folder: Path, pieces: Pieces, sequences: Sequences) -> None:
    """Write both files into an existing folder."""
    files.write_text(Path(folder) / _VOCABULARY, "".join(f"{token}\n" for token in pieces.vocabulary.tokens))
    settings: Settings = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": pieces.lower_case,
        "strip_accents": pieces.strip_accents,
        **sequences,
        **reference_of(pieces.characters.fingerprint),
    }
    files.write_json(Path(folder) / _SETTINGS, settings)


def read(folder: Path) -> tuple[Pieces, Sequences]:
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
