"""The names in the LiteRT file of a language model, for its writer and its readers."""

from pathlib import Path

from tfattn import files
from tfattn.errors import TfattnError
from tfattn.litert.model_file import FOLDER, PRECISIONS

SAVED_MODEL = "saved_model.pb"
FILES = {precision: f"decoder_{precision}.tflite" for precision in PRECISIONS}
READ, DECODE = "read", "decode"  # signatures
TOKENIZER = "tokenizer.json"


def cache_names(num_layers: int) -> list[tuple[str, str]]:
    """Return the names of the inputs with the keys and values of each layer.

    Example:
        >>> cache_names(2)
        [('key_000', 'value_000'), ('key_001', 'value_001')]
    """
    return [(f"key_{layer:03}", f"value_{layer:03}") for layer in range(num_layers)]


def is_alone(version: Path) -> bool:
    """Return whether a version is complete and has the LiteRT file of a language model, but no SavedModel."""
    if find(version) is None:
        return False
    try:
        names = files.read_manifest(version)["files"]
    except TfattnError:  # it is still being copied
        return False
    return SAVED_MODEL not in names and all((version / name).is_file() for name in names)


def find(version: Path) -> Path | None:
    """Return the LiteRT file of a version's language model, or None; of several precisions the smallest."""
    paths = (version / FOLDER / name for name in FILES.values())
    return next((path for path in paths if path.is_file()), None)
