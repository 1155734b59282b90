"""Out-of-fold scores: each row is scored by a model of scikit-learn that was trained on the other folds."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from tfattn import console
from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.folds import fold_of_rows
from tfattn.errors import DataError, listed
from tfattn.evaluation.baseline_models import Rows, train_baseline
from tfattn.features import TEXT
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.vectors.text_encoder import TextEncoder

BASELINE = "baseline"
MAX_LENGTH = 128  # tokens of a text for its vector
MAX_ITERATIONS = 300
REGULARIZATION = 0.01  # C of scikit-learn

# A function of the indices of training rows and of scored rows. It returns the classes that the training rows have, and
# their scores.
Train = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def out_of_fold_scores(
    preprocessor: Preprocessor,
    rows: Rows,
    given: np.ndarray,
    *,
    labels: Sequence[str],
    groups: Sequence[str] | None = None,
    scores: str = BASELINE,
    folds: int = 5,
    seed: int = 7,
) -> np.ndarray:
    """Compute the score of each class for each row, by models that were not trained on the row.

    Args:
        preprocessor: its fields are the inputs.
        rows: N raw rows.
        given: (N,) class ids.
        labels: the C classes.
        groups: the group of each row; the rows of a group are in one fold. None without groups.
        scores: "baseline" for the baseline of `tfattn evaluate`, which is selected in each fold; or an encoder, as for
            `TextEncoder.open`, for the mean of the baseline's scores and of a logistic regression of text vectors.
        folds: the number of stratified folds, at least 2.
        seed: the seed of the folds.

    Returns:
        (N, C) float64; each row has the sum 1.

    Raises:
        DataError: a class has fewer rows than folds.
        ConfigError: there is no such encoder.
    """
    _check_classes(given, labels, folds)
    classes = DictionaryEncoded(list(labels), given.astype(np.int32))
    grouped = None if groups is None else DictionaryEncoded.of(groups)
    fold_of_row = fold_of_rows(classes, grouped, folds=folds, seed=seed, stratify=True)
    models = [_train_on_rows(preprocessor, rows, given)]
    if scores != BASELINE:
        models.append(_train_on_vectors(text_vectors(preprocessor.fields, rows, scores), given))
    found = np.zeros((len(rows), len(labels)))
    for fold in console.tracked(range(folds), "folds", folds):
        scored = np.flatnonzero(fold_of_row == fold)
        for train in models:
            known, predicted = train(np.flatnonzero(fold_of_row != fold), scored)
            found[np.ix_(scored, known)] += predicted / len(models)
    return found


def _train_on_rows(preprocessor: Preprocessor, rows: Rows, given: np.ndarray) -> Train:
    def train(trained: np.ndarray, scored: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model = train_baseline(
            preprocessor,
            [rows[index] for index in trained],
            given[trained],
            kind="class",
            loss=lambda true, predicted: -float(np.mean(true == predicted)),
        )
        return model.estimator.classes_, model.scores([rows[index] for index in scored])

    return train


def _train_on_vectors(vectors: np.ndarray, given: np.ndarray) -> Train:
    def train(trained: np.ndarray, scored: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=REGULARIZATION, max_iter=MAX_ITERATIONS))
        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.simplefilter("ignore")  # of an optimizer that reaches max_iter
            model.fit(vectors[trained], given[trained])
        return model.classes_, model.predict_proba(vectors[scored])

    return train


def text_vectors(fields: Sequence[str], rows: Sequence[Mapping[str, Any]], encoder: str) -> np.ndarray:
    """Encode N texts (N, D) by the mean vector of a frozen encoder; a pair (N, 4 D) as both, difference and product.

    Source of the features of pairs: Conneau et al. 2017, "Supervised Learning of Universal Sentence Representations
    from Natural Language Inference Data", section 3.1.
    """
    opened = TextEncoder.open(encoder, pooling="mean", normalize=True, fields=(TEXT,), max_length=MAX_LENGTH)
    sides = []
    for name in fields:
        texts = ({TEXT: row[name]} for row in rows)
        encoded = console.tracked(opened.encode(texts), f"vectors of {name}", len(rows))
        sides.append(np.stack([vectors.values for vectors in encoded]))
    if len(sides) == 1:
        return sides[0]
    left, right = sides
    return np.concatenate([left, right, np.abs(left - right), left * right], axis=1)


def _check_classes(given: np.ndarray, labels: Sequence[str], folds: int) -> None:
    """Check that each class has a row in each fold."""
    counts = np.bincount(given, minlength=len(labels))
    rare = [f"{label!r} ({count})" for label, count in zip(labels, counts, strict=True) if count < folds]
    if rare:
        least = int(counts.min())
        raise DataError(
            "a class has fewer rows than folds",
            expected=f"at least {folds} rows of each class",
            received=listed(rare),
            remedy=f"Set --folds {least}." if least > 1 else "Add rows of the class, or remove its row.",
        )
