"""The embedding tables of an encoder-decoder, which may be shared, and logits as products with a table."""

from typing import Any

from keras import ops

from tfattn.errors import ConfigError
from tfattn.layers.embeddings import EmbeddingTable


def token_tables(
    width: int, *, vocabulary_size: int, target_vocabulary_size: int, share: str
) -> tuple[EmbeddingTable, EmbeddingTable, EmbeddingTable]:
    """Create the embedding tables of the source, of the target and of the output.

    Args:
        width: D, the width of a vector; the standard deviation of initial values is D^-0.5.
        vocabulary_size: the number of source tokens.
        target_vocabulary_size: the number of target tokens.
        share: "all" shares one table, "target" a table for target and output, "inputs" a table for source and target;
            "none" creates three tables.

    Returns:
        the three built tables; shared tables are the same object.

    Raises:
        ConfigError: source and target share a table, and the sizes of the vocabularies differ.
    """
    if share in ("all", "inputs") and vocabulary_size != target_vocabulary_size:
        raise ConfigError(
            "source and target cannot share their embeddings",
            key="share_embeddings",
            expected="one joint vocabulary for both, or `share_embeddings: target`",
            received=f"{vocabulary_size} source tokens and {target_vocabulary_size} target tokens",
        )

    def table(name: str, num_rows: int) -> EmbeddingTable:
        layer = EmbeddingTable(num_rows=num_rows, width=width, initializer_range=width**-0.5, name=name)
        layer.build()
        return layer

    if share in ("all", "inputs"):
        source = target = table("token", vocabulary_size)
    else:
        source, target = table("source_token", vocabulary_size), table("target_token", target_vocabulary_size)
    return source, target, target if share in ("all", "target") else table("output", target_vocabulary_size)


def logits(x: Any, table: EmbeddingTable, bias: Any = None) -> Any:
    """Compute the products of vectors with all rows of a table: (..., D) -> (..., V), in the type of x.

    Args:
        x: (..., D).
        table: a table of V rows.
        bias: (V,), added to the products; None for no bias.
    """
    num_rows, width = table.embeddings.shape
    # A single matrix product.
    products = ops.matmul(ops.reshape(x, (-1, width)), ops.transpose(ops.cast(table.embeddings, x.dtype)))
    products = products if bias is None else products + ops.cast(bias, x.dtype)
    return ops.reshape(products, (*ops.shape(x)[:-1], num_rows))
