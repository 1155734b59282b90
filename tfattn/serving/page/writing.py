"""What the page has to know of a version that writes texts (assets/generation.json)."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from tfattn.serving.generation.description import FILE

LARGEST = 1 << 20  # bytes


class Writing(BaseModel):
    """How a version writes texts: keys with the right types are kept, others are ignored."""

    model_config = ConfigDict(strict=True)

    context: int
    defaults: dict[str, FiniteFloat]
    chat_template: dict[str, Any] | None


def read(folder: Path) -> Writing | None:
    """Read how a version writes texts; None where it writes none, or the file cannot be read.

    Args:
        folder: the version's folder.
    """
    try:
        with open(folder / FILE, "rb") as file:
            return Writing.model_validate_json(file.read(LARGEST))
    except (OSError, ValidationError):
        return None
