"""The generation settings of a language model for the page (assets/generation.json)."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from tfattn.serving.generation.description import FILE

MAX_BYTES = 1 << 20  # of the file


class GenerationSettings(BaseModel):
    """Generation settings: known keys are validated, other keys are ignored."""

    model_config = ConfigDict(strict=True)

    context: int
    defaults: dict[str, FiniteFloat]
    chat_template: dict[str, Any] | None


def read(folder: Path) -> GenerationSettings | None:
    """Read the generation settings of a version; return None if the file is missing or invalid.

    Args:
        folder: the version's folder.
    """
    try:
        with open(folder / FILE, "rb") as file:
            return GenerationSettings.model_validate_json(file.read(MAX_BYTES))
    except (OSError, ValidationError):
        return None
