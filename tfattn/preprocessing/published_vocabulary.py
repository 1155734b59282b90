"""A published vocabulary of SentencePiece pieces, whose ids are not those of the SentencePiece model."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from tfattn import files
from tfattn.errors import DataError

_REMEDY = "Prepare the data again."


class VocabularySettings(TypedDict):
    """The content of <name>.json, except the tokens."""

    start_id: int
    end_id: int
    padding_id: int
    unknown_id: int
    special_ids: list[int]
    suppressed_ids: list[int]
    has_codes: bool


class _Saved(VocabularySettings):
    tokens: list[str]


@dataclass(frozen=True, kw_only=True)
class PublishedVocabulary:
    """The tokens of a vocabulary in the order of their ids, and the SentencePiece model that splits texts.

    Args:
        content: the content of a .model file, or of a .spm file.
        tokens: the pieces and special tokens.
        start_id: the id before a target.
        end_id: the id after a text.
        padding_id: the id of padding.
        unknown_id: the id of pieces that are not in the vocabulary.
        special_ids: the ids of tokens without text.
        suppressed_ids: the ids of tokens that are never generated.
        has_codes: whether a text may start with a code, such as `>>fra<<`, that is a token.
    """

    content: bytes
    tokens: tuple[str, ...]
    start_id: int
    end_id: int
    padding_id: int
    unknown_id: int
    special_ids: tuple[int, ...]
    suppressed_ids: tuple[int, ...]
    has_codes: bool = False

    def check(self, where: str) -> None:
        """Check that special tokens are in the vocabulary.

        Raises:
            DataError: an id is out of range.
        """
        named = {"start": self.start_id, "end": self.end_id, "padding": self.padding_id, "unknown": self.unknown_id}
        for name, number in [*named.items(), *(("suppressed", number) for number in self.suppressed_ids)]:
            if not 0 <= number < len(self.tokens):
                raise DataError(
                    f"the {name} token is not in the vocabulary",
                    where=where,
                    expected=f"an id from 0 to {len(self.tokens) - 1}",
                    received=str(number),
                )

    @property
    def fingerprint(self) -> str:
        """A digest of the vocabulary."""
        return files.digest([self.content.hex(), self._settings(), self.tokens])

    def write(self, folder: Path, name: str) -> None:
        """Write <name>.model, for SentencePiece, and <name>.json, with the tokens."""
        with files.atomic_file(folder / f"{name}.model") as path:
            path.write_bytes(self.content)
        files.write_json(folder / f"{name}.json", {**self._settings(), "tokens": list(self.tokens)})

    @staticmethod
    def read(folder: Path, name: str) -> "PublishedVocabulary":
        """Read what `write` wrote.

        Raises:
            DataError: a file is missing or damaged; names it.
        """
        path = folder / f"{name}.json"
        saved = files.read_json(path, _Saved, remedy=_REMEDY)
        lists = {key: tuple(value) for key, value in saved.items() if isinstance(value, list)}
        vocabulary = PublishedVocabulary(
            content=files.read_bytes(folder / f"{name}.model", remedy=_REMEDY), **{**saved, **lists}
        )
        vocabulary.check(str(path))
        return vocabulary

    def _settings(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key not in ("content", "tokens")}
