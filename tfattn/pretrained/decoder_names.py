"""The tensor names of decoders in PyTorch style: a layer, then `weight` or `bias`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DecoderNames:
    """The mapping of the model's variables to the tensor names of a format.

    Args:
        outer: the names of layers outside of blocks: token, position, norm and output.
        block: the prefix of names in a block; {} is the index of the block, from 0.
        parts: the names of the layers of a block; several names for a concatenated layer.

    Example:
        >>> names = DecoderNames({}, "h.{}.", {"feed_forward/output": ("mlp.c_proj",)})
        >>> names.tensor_names("block_3/feed_forward/output/bias")
        ('h.3.mlp.c_proj.bias',)
    """

    outer: Mapping[str, str]
    block: str
    parts: Mapping[str, tuple[str, ...]]

    def tensor_names(self, path: str) -> tuple[str, ...]:
        """Return the names of the tensors of a variable; its own path if the format has no such variable."""
        layer, _, kind = path.rpartition("/")
        suffix = "bias" if kind in ("bias", "beta") else "weight"
        if layer in self.outer:
            return (f"{self.outer[layer]}.{suffix}",)
        block, _, part = layer.partition("/")
        prefix = self.block.format(block.removeprefix("block_"))
        return tuple(f"{prefix}{name}.{suffix}" for name in self.parts.get(part, ())) or (path,)
