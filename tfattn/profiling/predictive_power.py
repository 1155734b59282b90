"""How well a single column predicts the target: a column that does so nearly always gives the target away."""

from collections.abc import Sequence

import numpy as np

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.formats.numbers import read

FOLDS = 5
MAX_ROWS = 20_000  # evenly spaced; more do not change the score
MIN_ROWS = 50
MIN_CLASS_ROWS = 2 * FOLDS  # rows of rarer classes are not counted
MAX_CELLS = 5_000_000  # of a table of values by classes
LEAVES, LEAF_ROWS = 16, 5  # of a tree for numbers

# A column is said to give the target away from this score on. Single columns of public tables that are known before the
# target score far lower: at most 0.53 in Telco churn, adult, German credit and phoneme, and 0.93 for the petal width of
# iris, whose classes were defined by such measures.
GIVES_AWAY = 0.95


def predictive_power(values: Sequence[str], targets: Sequence[str], *, is_number: bool, has_classes: bool) -> float:
    """Compute the cross-validated score of a model of a single column; 0 is chance, 1 predicts every target.

    The model is a decision tree of a number, or the majority class or mean of a category. For classes, the score is the
    balanced accuracy, scaled so that chance is 0; for numbers, the coefficient of determination.

    Args:
        values: the value of each row; a missing number is a value of its own.
        targets: the class or number of each row.
        is_number: whether the values are numbers.
        has_classes: whether the targets are classes.
    """
    rows = np.unique(np.linspace(0, len(values) - 1, min(MAX_ROWS, len(values))).astype(int)) if len(values) else []
    labels = DictionaryEncoded.of([targets[row] for row in rows])
    if has_classes:
        is_used = np.bincount(labels.codes, minlength=1)[labels.codes] >= MIN_CLASS_ROWS
        rows, labels = np.asarray(rows)[is_used], labels[np.flatnonzero(is_used)]
    if len(rows) < MIN_ROWS or len(labels.names) < 2:
        return 0.0
    truth = labels.codes if has_classes else np.array([read(targets[row]) for row in rows], np.float64)
    fold_of_row = _folds(labels.codes if has_classes else np.zeros(len(rows), np.int32))
    chosen = [values[row] for row in rows]
    predicted = np.empty(len(rows))
    predict = _predict_by_number if is_number else _predict_by_value
    inputs = _numbers(chosen) if is_number else DictionaryEncoded.of(chosen).codes
    if not is_number and (int(inputs.max()) + 1) * len(labels.names) > MAX_CELLS:
        return 0.0
    for fold in range(FOLDS):
        is_kept = fold_of_row != fold
        predicted[~is_kept] = predict(inputs[is_kept], truth[is_kept], inputs[~is_kept], has_classes)
    if has_classes:
        recalls = [(predicted[truth == label] == label).mean() for label in range(len(labels.names))]
        return float((np.mean(recalls) - 1 / len(recalls)) / (1 - 1 / len(recalls)))
    return float(1 - ((predicted - truth) ** 2).sum() / max(((truth - truth.mean()) ** 2).sum(), np.finfo(float).tiny))


def _folds(codes: np.ndarray) -> np.ndarray:
    """Divide the rows of each class at random into FOLDS folds of the same size: (N,)."""
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), np.int64)
    folds[order] = np.arange(len(codes)) % FOLDS
    return folds


def _numbers(values: Sequence[str]) -> np.ndarray:
    """Read numbers (N, 1); missing numbers are below all others."""
    numbers = np.array([np.nan if (number := read(value)) is None else number for value in values])
    lowest = np.nanmin(numbers, initial=0.0)
    return np.where(np.isnan(numbers), lowest - 1 - abs(lowest), numbers)[:, None]


def _predict_by_number(inputs: np.ndarray, truth: np.ndarray, others: np.ndarray, has_classes: bool) -> np.ndarray:
    # Imported late, because it takes most of a second.
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    leaves = max(LEAVES, 2 * len(np.unique(truth))) if has_classes else 4 * LEAVES
    options = {"max_leaf_nodes": leaves, "min_samples_leaf": LEAF_ROWS, "random_state": 0}
    tree = (
        DecisionTreeClassifier(class_weight="balanced", **options) if has_classes else DecisionTreeRegressor(**options)
    )
    return tree.fit(inputs, truth).predict(others)


def _predict_by_value(inputs: np.ndarray, truth: np.ndarray, others: np.ndarray, has_classes: bool) -> np.ndarray:
    """Predict the class that is most likely for the value if all classes are equally frequent, or the mean."""
    size = max(int(inputs.max()), int(others.max())) + 1
    if not has_classes:
        sums, counts = np.bincount(inputs, truth, size), np.bincount(inputs, minlength=size)
        return np.where(counts > 0, sums / np.maximum(counts, 1), truth.mean())[others]
    classes = int(truth.max()) + 1
    counts = np.bincount(inputs * classes + truth, minlength=size * classes).reshape(size, classes)
    return (counts / np.maximum(counts.sum(axis=0), 1)).argmax(axis=1)[others]
