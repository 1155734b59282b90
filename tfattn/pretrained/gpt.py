"""What formats of a published decoder have in common: byte-level BPE, and sizes that have to stand in the file."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from tfattn.errors import CheckpointError
from tfattn.pretrained.contract import Pretrained

_WHOLE = (
    "vocabulary_size",
    "hidden_dim",
    "num_layers",
    "num_heads",
    "num_key_value_heads",
    "intermediate_dim",
    "max_sequence_length",
)


class PublishedGpt(Pretrained):
    """Weights of a published decoder, which reads byte-level BPE.

    The sizes that a file states are held against the tensors that it has, so that nothing is made which is larger than
    the file.
    """

    model = "gpt"
    preprocessor = "byte_bpe"

    @abstractmethod
    def stated_sizes(self) -> dict[str, Any]:
        """Read the arguments with which to construct the model, as the file states them."""

    def sizes(self) -> dict[str, Any]:
        sizes = self.stated_sizes()
        self._check_whole(sizes)
        width, heads, groups = (sizes[name] for name in ("hidden_dim", "num_heads", "num_key_value_heads"))
        if width % heads or heads % groups:
            raise CheckpointError(
                "its sizes do not go together",
                where=str(self.place),
                expected="num_key_value_heads to divide num_heads, and num_heads hidden_dim",
                received=f"{groups}, {heads} and {width}",
            )
        stored = self.stored_shapes()
        for path, stated in _counts(sizes):
            names = self.stored_names(path, stored)
            if any(name not in stored for name in names):
                raise CheckpointError(
                    "a tensor is missing that its sizes ask for",
                    where=str(self.place),
                    expected=", ".join(names),
                    received=f"{len(stored):,} others",
                )
            if (count := sum(math.prod(stored[name]) for name in names)) != stated:
                raise CheckpointError(
                    "its sizes are not those of its tensors",
                    where=f"{self.place}: {', '.join(names)}",
                    expected=f"{stated:,} values",
                    received=f"{count:,}",
                )
        return sizes

    def _check_whole(self, sizes: Mapping[str, Any]) -> None:
        for name in _WHOLE:
            if name in sizes and (type(sizes[name]) is not int or sizes[name] < 1):
                raise CheckpointError(
                    "a size is no number",
                    where=str(self.place),
                    expected=f"{name} to be a whole number above 0",
                    received=repr(sizes[name])[:60],
                )


def _counts(sizes: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Count the values of all large variables, by their paths; those of the last block first, which tells how many."""
    width, inner = sizes["hidden_dim"], sizes["intermediate_dim"]
    narrow = width // sizes["num_heads"] * sizes["num_key_value_heads"]
    halves = 2 if sizes["activation"] == "swiglu" else 1
    yield "token/embeddings", sizes["vocabulary_size"] * width
    if sizes["positions"] == "learned":
        yield "position/embeddings", sizes["max_sequence_length"] * width
    for index in reversed(range(sizes["num_layers"])):
        yield f"block_{index}/attention/output/kernel", width * width
        yield f"block_{index}/attention/qkv/kernel", width * (width + 2 * narrow)
        yield f"block_{index}/feed_forward/intermediate/kernel", width * inner * halves
