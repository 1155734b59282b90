"""Embedding tables: sharing, and logits."""

import numpy as np
import pytest

from tfattn.errors import ConfigError
from tfattn.layers.token_tables import logits, token_tables


def tables(share, target_vocabulary_size=7):
    return token_tables(4, vocabulary_size=7, target_vocabulary_size=target_vocabulary_size, share=share)


@pytest.mark.parametrize(("share", "same"), [("all", [0, 0, 0]), ("target", [0, 1, 1]), ("none", [0, 1, 2])])
def test_tables_are_shared_as_configured(share, same):
    made = tables(share)
    assert [made.index(table) for table in made] == same


def test_tables_have_a_row_per_token():
    assert [table.embeddings.shape[0] for table in tables("none", 9)] == [7, 9, 9]
    with pytest.raises(ConfigError, match="7 source tokens and 9 target tokens"):
        tables("all", 9)


def test_logits_are_products_with_all_rows_and_a_bias():
    *_, table = tables("target", 5)
    rows = np.array(table.embeddings)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    np.testing.assert_allclose(logits(x, table), x @ rows.T, rtol=1e-5, atol=1e-6)
    bias = np.arange(5.0)
    np.testing.assert_allclose(logits(x[0], table, bias), x[0] @ rows.T + bias, rtol=1e-5, atol=1e-6)
