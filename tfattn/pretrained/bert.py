"""The base class of published BERTs, with a WordPiece vocabulary."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

from tfattn.pretrained.contract import Pretrained


class PublishedBert(Pretrained):
    """A folder of a published BERT with a WordPiece vocabulary."""

    model = "bert"
    preprocessor = "wordpiece"

    @property
    @abstractmethod
    def vocabulary(self) -> Path:
        """The vocabulary: a text file, one token per line."""

    @property
    def lower_case(self) -> bool:
        """Whether texts are lower-cased before tokenization; by default if the vocabulary has no capitals."""
        tokens = self.vocabulary.read_text(encoding="utf-8").splitlines()
        # Special tokens such as [CLS] have capitals in any case.
        return not any(token != token.lower() for token in tokens if not token.startswith("["))

    @property
    def strip_accents(self) -> bool | None:
        """Whether accents are stripped before tokenization; None for the same as `lower_case`."""
        return None

    def tokenization(self) -> dict[str, Any]:
        return {
            "vocabulary": self.vocabulary,
            "lower_case": self.lower_case,
            "strip_accents": self.strip_accents,
        }
