"""Simple models of scikit-learn for texts, pairs of texts, rows of tables and images."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import tensorflow as tf
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from tfattn.formats.numbers import read, stripped
from tfattn.preprocessing.images import Images
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.table import TableColumns

SELECTION_SECONDS = 15  # after which no further candidate is tried
SELECTION_FRACTION = 0.2  # of the training rows, on which the candidates are compared
MAX_SELECTION_ROWS = 2_000  # with which the candidates are trained for the comparison
MAX_BOOSTED_LABELS = 20  # boosting trains trees for every label
MAX_CATEGORIES = 250  # of a column; boosting allows 255
MAX_TERMS = 50_000
IMAGE_SIDE = 16  # pixels of a downscaled image
# Texts in scripts without spaces, such as Chinese, Japanese and Thai, are compared by characters.
UNSPACED = r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
MIN_UNSPACED = 0.2  # fraction of the characters

Rows = Sequence[Mapping[str, Any]]
TargetKind = Literal["class", "classes", "number"]


@dataclass(frozen=True)
class Candidate:
    """A model that can be trained.

    Attributes:
        name: the name in the report.
        inputs: the transformer of the inputs.
        classifier, regressor: the model of the transformed inputs.
    """

    name: str
    inputs: BaseEstimator
    classifier: BaseEstimator
    regressor: BaseEstimator

    def estimator(self, kind: TargetKind) -> BaseEstimator:
        """Return an untrained model for targets of a kind."""
        if kind == "number":
            return make_pipeline(self.inputs, self.regressor)
        # liblinear, by far the fastest for sparse inputs, has two classes.
        is_binary = kind == "classes" or isinstance(self.classifier, LogisticRegression)
        return make_pipeline(self.inputs, OneVsRestClassifier(self.classifier) if is_binary else self.classifier)


@dataclass(frozen=True)
class BaselineModel:
    """A trained model.

    Attributes:
        name: the name in the report.
        preprocessor: of the compared model; it defines the inputs.
        estimator: the trained estimator.
    """

    name: str
    preprocessor: Preprocessor
    estimator: BaseEstimator

    def predict(self, rows: Rows) -> np.ndarray:
        """Predict N raw rows: (N,) class ids or numbers, or (N, C) for several classes."""
        return self.estimator.predict(_inputs(self.preprocessor, rows))

    def scores(self, rows: Rows) -> np.ndarray:
        """Predict the score of each class of `estimator.classes_` for N raw rows: (N, C)."""
        return self.estimator.predict_proba(_inputs(self.preprocessor, rows))


def train_baseline(
    preprocessor: Preprocessor,
    rows: Rows,
    targets: np.ndarray,
    *,
    kind: TargetKind,
    loss: Callable[[np.ndarray, np.ndarray], float],
) -> BaselineModel:
    """Train the candidate with the lowest loss on a part of the training rows.

    Args:
        preprocessor: of the compared model; its fields are the inputs.
        rows: N raw training rows.
        targets: (N,) class ids or numbers, or (N, C) bool.
        kind: the kind of the targets.
        loss: computes the loss of true and predicted targets.
    """
    inputs = _inputs(preprocessor, rows)
    num_labels = {"class": len(np.unique(targets)), "classes": targets.shape[-1], "number": 1}[kind]
    candidates = list(_candidates(preprocessor, inputs, num_labels))
    start, losses = time.monotonic(), []
    # Several threads are slower on a busy machine, and hardly faster for a few thousand rows.
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")  # of classes without rows, and of optimizers that reach max_iter
        if len(candidates) > 1:
            fitted, compared = train_test_split(np.arange(len(targets)), test_size=SELECTION_FRACTION, random_state=0)
            fitted = fitted[:MAX_SELECTION_ROWS]
            for candidate in candidates:
                if time.monotonic() - start < SELECTION_SECONDS:
                    model = candidate.estimator(kind).fit(_take(inputs, fitted), targets[fitted])
                    losses.append(loss(targets[compared], model.predict(_take(inputs, compared))))
        best = candidates[int(np.argmin(losses)) if losses else 0]
        return BaselineModel(best.name, preprocessor, best.estimator(kind).fit(inputs, targets))


def _inputs(preprocessor: Preprocessor, rows: Rows) -> pd.DataFrame | np.ndarray:
    """Return the texts or columns of N rows as a data frame, or the pixels of their downscaled images (N, D)."""
    if isinstance(preprocessor, Images):
        pixels = preprocessor.pixels(tf.constant([row[preprocessor.fields[0]] for row in rows]))
        small = tf.image.resize(pixels, (IMAGE_SIDE, IMAGE_SIDE), method="area")
        return small.numpy().reshape(len(rows), -1)
    values: dict[str, Any] = {name: [row[name] for row in rows] for name in preprocessor.fields}
    if isinstance(preprocessor, TableColumns):
        texts = {name: [stripped(text) for text in column] for name, column in values.items()}
        values = texts | {
            name: [np.nan if text in preprocessor.missing else read(text) for text in texts[name]]
            for name in preprocessor.numeric
        }
    return pd.DataFrame(values)


def _candidates(preprocessor: Preprocessor, inputs: Any, num_labels: int) -> Iterator[Candidate]:
    if isinstance(preprocessor, Images):
        name = f"a linear model of {IMAGE_SIDE} x {IMAGE_SIDE} pixels"
        yield Candidate(name, StandardScaler(), _logistic(0.01), Ridge(alpha=100.0))
    elif isinstance(preprocessor, TableColumns):
        yield from _candidates_of_columns(preprocessor, num_labels)
    else:
        name = f"a linear model of TF-IDF of {'characters' if _is_unspaced(inputs) else 'words'}"
        for strength in (1.0, 0.1):
            linear = _logistic(1 / strength), Ridge(alpha=strength)
            yield Candidate(name, _text_transformer(inputs), *linear)


def _candidates_of_columns(table: TableColumns, num_labels: int) -> Iterator[Candidate]:
    numeric, categorical = list(table.numeric), list(table.categorical)
    scaled = make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", max_categories=MAX_CATEGORIES)
    inputs = make_column_transformer((scaled, numeric), (one_hot, categorical))
    yield Candidate("a linear model", inputs, _logistic(1.0), Ridge(alpha=1.0))
    if num_labels <= MAX_BOOSTED_LABELS:
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan, "max_categories": MAX_CATEGORIES}
        inputs = make_column_transformer(("passthrough", numeric), (OrdinalEncoder(**unknown), categorical))
        columns = {"categorical_features": range(len(numeric), len(numeric) + len(categorical)), "random_state": 0}
        boosting = HistGradientBoostingClassifier(**columns), HistGradientBoostingRegressor(**columns)
        yield Candidate("gradient boosting", inputs, *boosting)


def _text_transformer(texts: pd.DataFrame) -> BaseEstimator:
    """Return TF-IDF of each text, and for a pair of texts also their overlap."""
    vectorizers = [(text_vectorizer(texts), name) for name in texts.columns]
    if len(texts.columns) == 2:
        vectorizers.append((make_pipeline(FunctionTransformer(_overlap), StandardScaler()), list(texts.columns)))
    return make_column_transformer(*vectorizers)


def text_vectorizer(texts: pd.DataFrame) -> TfidfVectorizer:
    """Return TF-IDF of words, or of characters for scripts without spaces."""
    units = {"analyzer": "char"} if _is_unspaced(texts) else {"token_pattern": r"(?u)\b\w+\b"}
    return TfidfVectorizer(sublinear_tf=True, max_features=MAX_TERMS, ngram_range=(1, 2), **units)


def _overlap(pairs: pd.DataFrame) -> np.ndarray:
    """Return (N, 4): the fractions of common terms of all, the first and the second, and the ratio of lengths."""
    features = []
    for pair in pairs.itertuples(index=False):
        left, right = ({*(text.lower().split() if " " in text else text)} for text in pair)
        common, sizes = len(left & right), (max(len(left), 1), max(len(right), 1))
        features.append(
            [common / max(len(left | right), 1), common / sizes[0], common / sizes[1], np.log(sizes[0] / sizes[1])]
        )
    return np.array(features)


def _logistic(inverse_strength: float) -> LogisticRegression:
    return LogisticRegression(C=inverse_strength, solver="liblinear", random_state=0)


def _is_unspaced(texts: pd.DataFrame) -> bool:
    first = texts.iloc[:100].sum(axis=1).str
    return float(first.count(UNSPACED).sum()) > MIN_UNSPACED * float(first.len().sum())


def _take(inputs: pd.DataFrame | np.ndarray, indices: np.ndarray) -> pd.DataFrame | np.ndarray:
    return inputs.iloc[indices] if isinstance(inputs, pd.DataFrame) else inputs[indices]
