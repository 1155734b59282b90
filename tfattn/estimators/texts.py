"""scikit-learn estimators of texts and pairs of texts."""

from typing import Any, Literal

import numpy as np

from tfattn.estimators.estimator import Classifier, Estimator, Regressor

EPOCHS = {"frozen": 20, "fine_tune": 12}


class TextEstimator(Estimator):
    """An estimator of texts, or of pairs of texts.

    X is a list, an array or a Series of texts; or an array or a DataFrame with a column of texts, or two columns of
    pairs.

    Args:
        model: the `model` section; by default a small pretrained English encoder (minilm).
        encoder: "frozen" computes the vectors of the texts once and trains a linear layer, in seconds; "fine_tune"
            trains the encoder too, in minutes, and is usually better.
        epochs: the number of passes over the training rows; by default 20 for a frozen encoder, otherwise 12.
        learning_rate: the highest learning rate; by default the recommended rate of the model.
        batch_size: the number of texts in a batch.
        max_length: the maximum number of tokens; longer texts are cut.
        preprocessing: the `preprocessing` section; by default the tokenizer of the pretrained encoder.
        overrides: values of keys of the pipeline, as in `tfattn.run`.
        random_state: the seed of weights, order and dropout.
        verbose: whether to print the progress.
    """

    def __init__(
        self,
        *,
        model: Any = None,
        encoder: Literal["frozen", "fine_tune"] = "frozen",
        epochs: int | None = None,
        learning_rate: float | None = None,
        batch_size: int = 32,
        max_length: int = 128,
        preprocessing: dict[str, Any] | None = None,
        overrides: dict[str, Any] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.model = model
        self.encoder = encoder
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_length = max_length
        self.preprocessing = preprocessing
        self.overrides = overrides
        self.random_state = random_state
        self.verbose = verbose

    def _rows(self, X: Any, *, reset: bool) -> list[dict[str, str]]:
        if isinstance(X, str):
            raise ValueError("X: expected a list or an array of texts, received a single text")
        values = np.asarray(X, object)
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2 or values.shape[1] not in (1, 2):
            raise ValueError(f"X: expected texts, or 2 columns of texts, received an array of the shape {values.shape}")
        if not len(values):
            raise ValueError("X: expected at least 1 text, received none (n_samples=0)")
        for number, row in enumerate(values):
            for value in row:
                if not isinstance(value, str) or not value.strip():
                    raise ValueError(f"X: expected texts that are not empty, received {value!r} in row {number}")
        if reset:
            self.num_texts_ = values.shape[1]
        elif values.shape[1] != self.num_texts_:
            raise ValueError(f"X: expected {self.num_texts_} texts in a row as in fit, received {values.shape[1]}")
        roles = self._roles()
        return [dict(zip(roles, map(str, row), strict=True)) for row in values]

    def _roles(self) -> tuple[str, ...]:
        return ("text",) if self.num_texts_ == 1 else ("text_a", "text_b")

    def _fields(self) -> dict[str, str]:
        return {role: role for role in self._roles()}

    def _data(self) -> dict[str, Any]:
        name = "wordpiece" if self.model is None else "pretrained_tokenizer"
        by_default = {"name": name, "vocabulary": "pretrained", "max_length": self.max_length}
        return {"preprocessing": {**(self.preprocessing or by_default), "fields": list(self._roles())}}

    def _model(self) -> Any:
        return {"name": "bert", "pretrained": "minilm"} if self.model is None else self.model

    def _task(self) -> dict[str, Any]:
        return {"encoder": self.encoder}

    def _epochs(self) -> int:
        return EPOCHS[self.encoder] if self.epochs is None else self.epochs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = tags.input_tags.string = True
        return tags


class TextClassifier(Classifier, TextEstimator):
    __doc__ = f"""A classifier of texts, or of pairs of texts.{TextEstimator.__doc__.partition(".")[2]}
    Example:
        >>> TextClassifier().fit(reports["Description"], reports["Category"]).predict(["Coolant is pooling."])
        array(['Leak'], dtype=object)
    """


class TextRegressor(Regressor, TextEstimator):
    __doc__ = f"""A regressor of texts, or of pairs of texts.{TextEstimator.__doc__.partition(".")[2]}
    Example:
        >>> TextRegressor().fit(pairs[["sentence_a", "sentence_b"]], pairs["relatedness"])
    """
