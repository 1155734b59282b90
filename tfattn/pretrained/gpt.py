"""The base class of published decoders with byte-level BPE; their sizes are checked against the tensors."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from tfattn.config.schema import keys_of
from tfattn.config.types import GATED_ACTIVATIONS
from tfattn.errors import CheckpointError
from tfattn.pretrained.contract import Pretrained


class PublishedGpt(Pretrained):
    """Weights of a published decoder with byte-level BPE.

    The stated sizes are compared with the tensors of the file, so that no model is built that is larger than the file.
    """

    model = "gpt"
    preprocessor = "byte_bpe"

    @abstractmethod
    def stated_sizes(self) -> dict[str, Any]:
        """Read the constructor arguments of the model that the file states."""

    def sizes(self) -> dict[str, Any]:
        sizes = self.stated_sizes()
        self.check_values(sizes)
        width, heads, groups = (sizes[name] for name in ("hidden_dim", "num_heads", "num_key_value_heads"))
        if width % heads or heads % groups:
            raise CheckpointError(
                "the sizes do not fit together",
                where=str(self.path),
                expected="num_key_value_heads to divide num_heads, and num_heads hidden_dim",
                received=f"{groups}, {heads} and {width}",
            )
        stored = self.stored_shapes()
        for path, stated in _counts(sizes):
            names = self.stored_names(path, stored)
            if any(name not in stored for name in names):
                raise CheckpointError(
                    "a tensor of the stated sizes is missing",
                    where=str(self.path),
                    expected=", ".join(names),
                    received=f"{len(stored):,} others",
                )
            if (count := sum(math.prod(stored[name]) for name in names)) != stated:
                raise CheckpointError(
                    "the sizes differ from the tensors",
                    where=f"{self.path}: {', '.join(names)}",
                    expected=f"{stated:,} values",
                    received=f"{count:,}",
                )
        return sizes

    def check_values(self, sizes: Mapping[str, Any]) -> None:
        """Refuse values of a wrong type, or out of the range that the model allows."""
        arguments = keys_of("models", self.model)
        for name, value in sizes.items():
            if value is not None and arguments[name].check(value):
                raise CheckpointError(
                    "not supported",
                    where=str(self.path),
                    expected=f"{name} to be {arguments[name].expected()}",
                    received=repr(value)[:60],
                )


def _counts(sizes: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the path and the number of values of all large variables, the last block first."""
    width, inner = sizes["hidden_dim"], sizes["intermediate_dim"]
    head_dim = sizes.get("head_dim") or width // sizes["num_heads"]
    wide, narrow = head_dim * sizes["num_heads"], head_dim * sizes["num_key_value_heads"]
    halves = 2 if sizes["activation"] in GATED_ACTIVATIONS else 1
    yield "token/embeddings", sizes["vocabulary_size"] * width
    if sizes["positions"] == "learned":
        yield "position/embeddings", sizes["max_sequence_length"] * width
    for index in reversed(range(sizes["num_layers"])):
        yield f"block_{index}/attention/output/kernel", wide * width
        yield f"block_{index}/attention/qkv/kernel", width * (wide + 2 * narrow)
        yield f"block_{index}/feed_forward/intermediate/kernel", width * inner * halves
