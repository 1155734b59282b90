"""The base class of Hugging Face decoder folders: config.json, model.safetensors, a tokenizer."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from tfattn.pretrained import safetensors_file
from tfattn.pretrained.contract import read_json
from tfattn.pretrained.decoder_names import DecoderNames
from tfattn.pretrained.gpt import PublishedGpt
from tfattn.pretrained.hugging_face_tokens import read_tokens
from tfattn.pretrained.safetensors_file import WEIGHTS

CONFIG = "config.json"


class HuggingFaceDecoder(PublishedGpt):
    """Weights as transformers saves a decoder, with or without the language modeling head.

    Attributes:
        model_type: the architecture in config.json.
        prefix: the prefix of all tensors except the head, in a model with a head.
        names: the names of the tensors, without the prefix.
    """

    weights = (WEIGHTS,)
    model_type: str
    prefix: str
    names: DecoderNames

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("model_type") == cls.model_type

    def tokenization(self) -> dict[str, Any]:
        return read_tokens(self.folder, self._json(CONFIG))

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        return safetensors_file.shapes(self.folder)

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        prefix = self.prefix if any(name.startswith(self.prefix) for name in stored) else ""
        names = self.names.tensor_names(path)
        return names if names == (path,) or path.startswith("output/") else tuple(prefix + name for name in names)
