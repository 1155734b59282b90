"""The base classes of estimators: classes or numbers as targets, and the settings that all have."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from tfattn.estimators.fitted_pipeline import FittedPipeline, Row

TARGET_KEY = "y"


class Estimator(BaseEstimator):
    """An estimator that trains a pipeline. A subclass reads X, and a mixin reads y.

    `fit` uses all rows, for a fixed number of epochs.
    """

    def _rows(self, X: Any, *, reset: bool) -> list[dict[str, str]]:
        """Validate X and return its rows; with `reset`, define the columns."""
        raise NotImplementedError

    def _data(self) -> dict[str, Any]:
        """Return the `data` section without sources, after `_rows`."""
        raise NotImplementedError

    def _model(self) -> dict[str, Any]:
        """Return the `model` section."""
        raise NotImplementedError

    def _fields(self) -> dict[str, str]:
        """Return the keys of roles, after `_rows`."""
        return {}

    def _task(self) -> dict[str, Any]:
        """Return keys of the `task` section."""
        return {}

    def _epochs(self) -> int:
        """Return the number of passes over the training rows."""
        return self.epochs

    def _fit(self, rows: Sequence[Row], targets: Sequence[str], role: str, task: Mapping[str, Any]) -> "Estimator":
        if len(rows) != len(targets):
            raise ValueError(f"X and y: expected the same number of rows, received {len(rows)} and {len(targets)}")
        epochs, batch_size = self._epochs(), min(self.batch_size, len(rows))
        sections = {
            "data": {
                **self._data(),
                "batching": {"batch_size": batch_size},
                **({"targets": {"labels": [str(id) for id in range(len(self.classes_))]}} if role == "label" else {}),
            },
            "model": self._model(),
            "task": {**task, **self._task()},
            # Without a learning rate, the recommended training of the model is used.
            "training": {
                "epochs": epochs,
                **({"optimizer": {"learning_rate": self.learning_rate}} if self.learning_rate else {}),
                "selection": "last_epoch",
                # Only at the end: a validation with its checkpoint takes longer than an epoch of a few rows.
                "validate_every": epochs * -(-len(rows) // batch_size),
            },
            "runtime": {"precision": "float32"},
            "seed": int(check_random_state(self.random_state).randint(2**31 - 1)),
        }
        self.fitted_ = FittedPipeline(
            sections,
            fields={**self._fields(), role: TARGET_KEY},
            rows=[{**row, TARGET_KEY: target} for row, target in zip(rows, targets, strict=True)],
            overrides=self.overrides or {},
            verbose=self.verbose,
        )
        return self

    def _predict(self, X: Any, name: str) -> np.ndarray:
        check_is_fitted(self)
        return self.fitted_.predict(self._rows(X, reset=False))[name]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")


class Classifier(ClassifierMixin, Estimator):
    """An estimator of classes.

    Attributes:
        classes_: the classes, sorted.
    """

    def fit(self, X: Any, y: Any) -> "Classifier":
        """Train on rows X and their classes y."""
        rows = self._rows(X, reset=True)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, ids = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y: expected at least 2 classes, received 1 class: {self.classes_[0]!r}")
        return self._fit(rows, [str(id) for id in ids], "label", {"name": "classification"})

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the probability of each class, in the order of `classes_`: (N, C)."""
        return self._predict(X, "scores")

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each row."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]


class Regressor(RegressorMixin, Estimator):
    """An estimator of numbers."""

    def fit(self, X: Any, y: Any) -> "Regressor":
        """Train on rows X and their numbers y."""
        rows = self._rows(X, reset=True)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True).astype(np.float64)
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        return self._fit(rows, [repr(float(value)) for value in y], "target", {"name": "regression"})

    def predict(self, X: Any) -> np.ndarray:
        """Predict the number of each row."""
        return self._predict(X, "predictions")
