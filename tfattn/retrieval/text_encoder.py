"""The encoder of an index: an export of the task embedding."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.errors import ConfigError, ServingError
from tfattn.features import EMBEDDING
from tfattn.rows import normalized
from tfattn.serving.api.signature import DEFAULT
from tfattn.serving.client.local import load

BATCH_SIZE = 32
CARD = Path("assets.extra") / "card.json"
ENCODES = ("saved_model.pb", "variables/", "assets/")  # the files on which vectors depend


class ExportedEncoder:
    """An export that returns the vectors of texts.

    Args:
        model: the export's folder, or its name.
        folder: the folder of all exports.

    Attributes:
        path: the folder of the export's version.
        checksum: the SHA-256 of its graph, weights and vocabulary.
        width: the dimensions of its vectors.
        query_prompt, document_prompt: the texts before queries and documents.

    Raises:
        ServingError: there is no such export, it is damaged, or it does not return vectors of texts.
    """

    def __init__(self, model: str | Path, folder: str | Path = "saved_models"):
        self._model = load(str(model), folder)
        self.path = self._model.folder
        card = files.read_json(self.path / CARD, dict[str, Any]) if (self.path / CARD).is_file() else {}
        if card.get("task") != "embedding":
            raise ServingError(
                "the export returns no vectors of texts",
                where=str(self.path),
                expected="an export of the task embedding",
                remedy="Train one with `task: {name: embedding}`; see docs/embeddings.md.",
            )
        self.width: int = card["dimensions"]
        prompts = list(card["prompts"].values())
        self.query_prompt, self.document_prompt = prompts[0], prompts[min(1, len(prompts) - 1)]
        entries = files.read_manifest(self.path)["files"]
        self.checksum = files.digest(
            {name: entry["sha256"] for name, entry in entries.items() if name.startswith(ENCODES)}
        )

    def encode(self, texts: Sequence[str], *, prompt: str, dimensions: int | None = None) -> np.ndarray:
        """Return the vectors of texts, (N, D) float32 of length 1.

        Args:
            texts: N texts, similar in length for speed.
            prompt: the text before each text.
            dimensions: D, the number of leading dimensions; None for all.

        Raises:
            ConfigError: there are fewer dimensions.
        """
        if dimensions is not None and dimensions > self.width:
            raise ConfigError(
                "the vectors have fewer dimensions",
                key="dimensions",
                expected=f"at most {self.width}",
                received=str(dimensions),
            )
        (name,) = self._model.inputs
        found = [
            self._model.arrays(
                [{name: prompt + text} for text in texts[first : first + BATCH_SIZE]], signature=DEFAULT
            )[EMBEDDING]
            for first in range(0, len(texts), BATCH_SIZE)
        ]
        return normalized(np.concatenate(found)[:, :dimensions])
