"""The card of a version, which its export has written for the page (tfattn/export/card.py)."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

FILE = Path("assets.extra") / "card.json"
LARGEST = 1 << 20  # bytes


class CardPart(BaseModel):
    """A part of a card: keys of the schema with the right types are kept, others are ignored."""

    model_config = ConfigDict(strict=True)


class Input(CardPart):
    """An input: text, several texts, a number, one of some values, or an image."""

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
    """A card, with the names that the export's has."""

    exported: datetime
    inputs: dict[str, Input]
    examples: list[dict[str, str | list[str] | dict[str, str] | FiniteFloat | None]]
    entries: dict[str, list[str]]
    positive: str | None = None
    threshold: FiniteFloat | None = None
    metrics: dict[str, FiniteFloat]
    measured_on: str


def read(folder: Path) -> Card | None:
    """Read the card of a version; None where it has none that can be read, as a SavedModel from elsewhere.

    Args:
        folder: the version's folder.
    """
    try:
        with open(folder / FILE, "rb") as file:
            return Card.model_validate_json(file.read(LARGEST))
    except (OSError, ValidationError):
        return None
