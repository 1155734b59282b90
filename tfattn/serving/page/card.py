"""The model card of a version, which the export writes for the page (tfattn/export/card.py)."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

FILE = Path("assets.extra") / "card.json"
MAX_BYTES = 1 << 20  # of the file


class CardPart(BaseModel):
    """A part of a card: known keys are validated, other keys are ignored."""

    model_config = ConfigDict(strict=True)


class Input(CardPart):
    """An input: a text, a list of texts, a number, a category, or an image."""

    kind: Literal["text", "texts", "number", "category", "image"]
    column: str
    max_tokens: int | None = None
    may_be_missing: bool = False
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    values: list[str] | None = None
    no_value: str | None = None
    height: int | None = None
    width: int | None = None
    max_bytes: int | None = None


class Card(CardPart):
    """A model card, with the field names of the export."""

    exported: datetime
    inputs: dict[str, Input]
    examples: list[dict[str, str | list[str] | dict[str, str] | FiniteFloat | None]]
    entries: dict[str, list[str]]
    positive: str | None = None
    threshold: FiniteFloat | None = None
    metrics: dict[str, FiniteFloat]
    measured_on: str


def read(folder: Path) -> Card | None:
    """Read the card of a version; return None if it is missing or invalid, for example in a foreign SavedModel.

    Args:
        folder: the version's folder.
    """
    try:
        with open(folder / FILE, "rb") as file:
            return Card.model_validate_json(file.read(MAX_BYTES))
    except (OSError, ValidationError):
        return None
