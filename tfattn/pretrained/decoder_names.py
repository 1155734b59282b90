"""The names of a decoder's weights in formats that name them as torch does: a layer, then `weight` or `bias`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DecoderNames:
    """Where a format keeps each of our variables.

    Args:
        outer: its names of the layers outside of blocks: token, position, norm and output.
        block: what its names in a block begin with; {} is the number of the block, from 0.
        parts: its names of the layers of a block, several where ours is made of several, side by side.

    Example:
        >>> DecoderNames({}, "h.{}.", {"feed_forward/output": ("mlp.c_proj",)}).of("block_3/feed_forward/output/bias")
        ('h.3.mlp.c_proj.bias',)
    """

    outer: Mapping[str, str]
    block: str
    parts: Mapping[str, tuple[str, ...]]

    def of(self, path: str) -> tuple[str, ...]:
        """Return the names of the tensors that make a variable; its own path where the format has no such thing."""
        layer, _, kind = path.rpartition("/")
        suffix = "bias" if kind in ("bias", "beta") else "weight"
        if layer in self.outer:
            return (f"{self.outer[layer]}.{suffix}",)
        block, _, part = layer.partition("/")
        prefix = self.block.format(block.removeprefix("block_"))
        return tuple(f"{prefix}{name}.{suffix}" for name in self.parts.get(part, ())) or (path,)
