"""Table encoders that first embed each column as a token."""

from typing import Any, Literal

from keras import ops

from tfattn.errors import ConfigError
from tfattn.features import CATEGORY_IDS, MISSING, NUMERIC, PIECEWISE
from tfattn.layers.column_tokens import CategoryTokens, MissingTokens
from tfattn.layers.numeric_tokens import LinearTokens, PeriodicTokens, PiecewiseLinearTokens
from tfattn.models.contracts.table_encoder import TableEncoder

NumericEmbedding = Literal["linear", "piecewise_linear", "periodic"]


class TokenizedTable(TableEncoder):
    """A table encoder that first embeds each column as a token of width D.

    Constructors call `build_tokens` within the name scope of the model.

    Attributes:
        reads: the feature with the numbers, `numeric` or `piecewise`.
        num_numeric: N, the number of numeric columns.
        category_counts: the number of ids of each of the M categorical columns.
        tokens: the layers that compute tokens.
    """

    def build_tokens(
        self,
        *,
        num_numeric: int,
        category_counts: list[int],
        num_bins: int,
        width: int,
        numeric_embedding: NumericEmbedding,
        num_frequencies: int,
        frequency_scale: float,
    ) -> None:
        """Create the layers of the tokens.

        Raises:
            ConfigError: the preprocessor makes no bins for piecewise_linear, or there is no column.
        """
        self.num_numeric = num_numeric
        self.category_counts = category_counts
        self.reads = PIECEWISE if numeric_embedding == "piecewise_linear" else NUMERIC
        if self.reads == PIECEWISE and num_numeric and not num_bins:
            raise ConfigError(
                "the preprocessor makes no bins",
                key="numeric_embedding",
                expected="linear or periodic, or `bins` above 0 in the preprocessor",
                received="piecewise_linear",
            )
        if not num_numeric and not category_counts:
            raise ConfigError("there is no column to read", key="num_numeric", expected="at least one column")
        self.tokens: list[Any] = []
        if num_numeric:
            common = {"width": width, "name": "numeric"}
            if numeric_embedding == "piecewise_linear":
                self.numeric = PiecewiseLinearTokens(num_bins=num_bins, **common)
            elif numeric_embedding == "periodic":
                self.numeric = PeriodicTokens(
                    num_frequencies=num_frequencies, frequency_scale=frequency_scale, **common
                )
            else:
                self.numeric = LinearTokens(**common)
            self.numeric.build((None, num_numeric * (num_bins if self.reads == PIECEWISE else 1)))
            self.missing = MissingTokens(name="missing")
            self.missing.build((None, num_numeric, width))
            self.tokens += [self.numeric, self.missing]
        if category_counts:
            self.category = CategoryTokens(width=width, category_counts=category_counts, name="category")
            self.category.build()
            self.tokens.append(self.category)
        for variable in (variable for layer in self.tokens for variable in layer.trainable_variables):
            variable.decays = False  # as in the released code, where no weight of the tokens decays

    def vectors_of(self, features: dict[str, Any]) -> Any:
        """Compute a token for each column, numeric columns first: (B, N + M, D)."""
        parts = []
        if self.num_numeric:
            tokens = self.numeric(features[self.reads])
            parts.append(self.missing(tokens, features[MISSING]) if MISSING in features else tokens)
        if self.category_counts:
            parts.append(self.category(features[CATEGORY_IDS]))
        return parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=1)
