"""scikit-learn estimators of table rows: attention between the columns."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tfattn.estimators.estimator import Classifier, Estimator, Regressor
from tfattn.frames import as_cell

MODEL = {"name": "feature_tokenizer_transformer", "hidden_dim": 64, "num_layers": 2, "num_heads": 8}


class TableEstimator(Estimator):
    """An estimator of table rows.

    Numeric columns are numbers, others are categories. NaN, None and empty texts are missing values. Columns with a
    single value are ignored.

    Args:
        model: the `model` section; by default a feature tokenizer transformer.
        epochs: the number of passes over the training rows.
        learning_rate: the highest learning rate; by default the recommended rate of the model.
        batch_size: the number of rows in a batch.
        categorical_features: the names or indices of columns of numbers that are categories.
        overrides: values of keys of the pipeline, as in `tfattn.run`, such as {"training": {"clip_norm": 0.5}}.
        random_state: the seed of weights, order and dropout.
        verbose: whether to print the progress.
    """

    def __init__(
        self,
        *,
        model: Any = None,
        epochs: int = 15,
        learning_rate: float | None = None,
        batch_size: int = 32,
        categorical_features: Any = None,
        overrides: dict[str, Any] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.model = model
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.categorical_features = categorical_features
        self.overrides = overrides
        self.random_state = random_state
        self.verbose = verbose

    def _rows(self, X: Any, *, reset: bool) -> list[dict[str, str]]:
        checked = validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=2 if reset else 1
        )
        if np.iscomplexobj(checked):
            raise ValueError("Complex data not supported")
        columns = [X.iloc[:, index] if hasattr(X, "iloc") else checked[:, index] for index in range(checked.shape[1])]
        cells = [[as_cell(value) for value in column.tolist()] for column in columns]
        if reset:
            self._learn_columns(columns, cells)
        keys = [f"column_{index}" for index in range(len(cells))]
        return [dict(zip(keys, values, strict=True)) for values in zip(*cells, strict=True)]

    def _learn_columns(self, columns: list[Any], cells: list[list[str]]) -> None:
        names = list(getattr(self, "feature_names_in_", ()))
        chosen = {names.index(one) if isinstance(one, str) else int(one) for one in self.categorical_features or ()}
        varying = [index for index, values in enumerate(cells) if len(set(values)) > 1]
        if not varying:
            raise ValueError("X: expected a column with different values, received only columns with one value each")
        numeric = [index for index in varying if index not in chosen and _holds_numbers(columns[index])]
        self.numeric_columns_ = [index for index in numeric if len({*cells[index]} - {""}) > 1]
        self.categorical_columns_ = [index for index in varying if index not in numeric]
        if not self.numeric_columns_ and not self.categorical_columns_:
            raise ValueError("X: expected a column with different values, received numbers that are equal or missing")

    def _data(self) -> dict[str, Any]:
        preprocessing = {
            "name": "table",
            "numeric": [f"column_{index}" for index in self.numeric_columns_],
            "categorical": [f"column_{index}" for index in self.categorical_columns_],
        }
        return {"preprocessing": preprocessing}

    def _model(self) -> Any:
        return MODEL if self.model is None else self.model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


class TableClassifier(Classifier, TableEstimator):
    __doc__ = f"""A classifier of table rows.{TableEstimator.__doc__.partition(".")[2]}
    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> TableClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
        True
    """


class TableRegressor(Regressor, TableEstimator):
    __doc__ = f"""A regressor of table rows.{TableEstimator.__doc__.partition(".")[2]}
    Example:
        >>> TableRegressor(random_state=0).fit(table, prices).predict(table[:3])
    """


def _holds_numbers(column: Any) -> bool:
    """Return whether a column has a numeric type, or has numbers only."""
    kind = getattr(column.dtype, "kind", "O")
    return (
        kind in "iuf"
        or kind == "O"
        and all(
            value is None or isinstance(value, int | float | np.number) and not isinstance(value, bool)
            for value in column
        )
    )
