"""Files of an export for the page: the model card, and the settings of text generation."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, FiniteFloat, ValidationError

from tfattn.formats.chat_template import ChatTemplate
from tfattn.serving.generation import description

FILE = Path("assets.extra") / "card.json"
MAX_BYTES = 1 << 20  # of a file

Read = TypeVar("Read", bound=BaseModel)


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
    """The card of a version, with the field names of the export (tfattn/export/card.py)."""

    exported: datetime
    inputs: dict[str, Input]
    examples: list[dict[str, str | list[str] | dict[str, str] | FiniteFloat | None]]
    entries: dict[str, list[str]]
    positive: str | None = None
    threshold: FiniteFloat | None = None
    coverage: FiniteFloat | None = None
    metrics: dict[str, FiniteFloat]
    measured_on: str


def _template_description(values: dict[str, Any] | None) -> dict[str, Any] | None:
    """Complete the description of a chat template, which lacks the texts of the format in earlier exports."""
    return None if values is None else ChatTemplate.of(values).description


class GenerationSettings(CardPart):
    """The settings of a language model (assets/generation.json)."""

    context: int
    defaults: Annotated[dict[str, FiniteFloat | list[str] | None], AfterValidator(description.read_defaults)]
    chat_template: Annotated[dict[str, Any] | None, AfterValidator(_template_description)]


def read(folder: Path) -> Card | None:
    """Read the card of a version; return None if it is missing or invalid, for example in a foreign SavedModel."""
    return _read(folder / FILE, Card)


def read_generation(folder: Path) -> GenerationSettings | None:
    """Read the generation settings of a version; return None if they are missing or invalid."""
    return _read(folder / description.FILE, GenerationSettings)


def _read(path: Path, kind: type[Read]) -> Read | None:
    try:
        with open(path, "rb") as file:
            return kind.model_validate_json(file.read(MAX_BYTES))
    except (OSError, ValidationError):
        return None
