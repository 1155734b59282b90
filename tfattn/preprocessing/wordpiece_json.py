"""The tokenizer.json of a WordPiece tokenizer, as the package `tokenizers` writes it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from tfattn import files
from tfattn.errors import DataError
from tfattn.preprocessing.byte_vocabulary import tokens_by_id

CONTINUES = "##"  # the prefix of pieces that continue a word
_REMEDY = "Check that it is the tokenizer.json of a BERT model."


class _Model(TypedDict):
    type: str
    vocab: dict[str, int]
    continuing_subword_prefix: str


class _File(TypedDict):
    """The content of tokenizer.json, restricted to the fields that are read."""

    model: _Model
    normalizer: dict[str, Any]


@dataclass(frozen=True)
class WordPieceJson:
    """The tokens and the normalization of a tokenizer.json.

    Args:
        tokens: the tokens, in the order of their ids.
        lower_case: whether case is folded.
        strip_accents: whether accents are dropped; None for the same as `lower_case`.
    """

    tokens: tuple[str, ...]
    lower_case: bool
    strip_accents: bool | None

    @staticmethod
    def read(path: str | Path) -> "WordPieceJson":
        """Read a file.

        Raises:
            DataError: the file is missing or damaged, or has another tokenizer than BERT's.
        """
        known = files.read_json(path, _File, remedy=_REMEDY)
        model, normalizer = known["model"], known["normalizer"]
        found = (model["type"], model["continuing_subword_prefix"], normalizer.get("type"))
        if found != ("WordPiece", CONTINUES, "BertNormalizer"):
            raise DataError(
                "another tokenizer than BERT's",
                where=str(path),
                expected=f"WordPiece with the prefix {CONTINUES}, and a BertNormalizer",
                received=", ".join(map(str, found)),
            )
        tokens = tokens_by_id(model["vocab"], str(path))
        return WordPieceJson(tokens, bool(normalizer.get("lowercase")), normalizer.get("strip_accents"))
