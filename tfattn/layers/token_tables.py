"""The tables of token vectors of an encoder-decoder, some of which may be one, and the logits that one makes."""

from typing import Any

from keras import ops

from tfattn.errors import ConfigError
from tfattn.layers.embeddings import Table


def token_tables(
    width: int, *, vocabulary_size: int, target_vocabulary_size: int, share: str
) -> tuple[Table, Table, Table]:
    """Makes the tables that sources are read by, that targets are read by, and that logits are products with.

    Args:
        width: D, of a vector; their values are of the size D^-0.5.
        vocabulary_size: how many tokens sources have.
        target_vocabulary_size: how many tokens targets have.
        share: "all" makes all of them one table, "target" the last two; "none" makes three.

    Raises:
        ConfigError: all are to be one, and the vocabularies differ in size.
    """
    if share == "all" and vocabulary_size != target_vocabulary_size:
        raise ConfigError(
            "source and target cannot share their embeddings",
            key="share_embeddings",
            expected="one joint vocabulary for both, or `share_embeddings: target`",
            received=f"{vocabulary_size} source tokens and {target_vocabulary_size} target tokens",
        )

    def table(name: str, num_rows: int) -> Table:
        layer = Table(num_rows=num_rows, width=width, initializer_range=width**-0.5, name=name)
        layer.build()
        return layer

    if share == "all":
        token = table("token", vocabulary_size)
        return token, token, token
    source, target = table("source_token", vocabulary_size), table("target_token", target_vocabulary_size)
    return source, target, target if share == "target" else table("output", target_vocabulary_size)


def logits(x: Any, table: Table, bias: Any = None) -> Any:
    """The products of vectors with all rows of a table: (..., D) -> (..., V), in the type of x.

    Args:
        x: (..., D).
        table: of V rows.
        bias: (V,), added to them.
    """
    num_rows, width = table.embeddings.shape
    # As one product of two matrices.
    answer = ops.matmul(ops.reshape(x, (-1, width)), ops.transpose(ops.cast(table.embeddings, x.dtype)))
    answer = answer if bias is None else answer + ops.cast(bias, x.dtype)
    return ops.reshape(answer, (*ops.shape(x)[:-1], num_rows))
