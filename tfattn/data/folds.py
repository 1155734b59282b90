"""Cross-validation folds, stratified and grouped."""

import warnings

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.errors import ConfigError, DataError, listed


def fold_of_rows(
    classes: DictionaryEncoded, groups: DictionaryEncoded | None, *, folds: int, seed: int, stratify: bool
) -> np.ndarray:
    """Assign rows at random to folds of similar size.

    Args:
        classes: the class of each row.
        groups: the group of each row; the rows of a group stay together. None without groups.
        folds: number of folds, at least 2.
        seed: not negative.
        stratify: whether each fold has about the same fraction of each class.

    Returns:
        (N,) the fold of each row, from 0.

    Raises:
        DataError: there are fewer groups than folds.
        ConfigError: there are fewer rows than folds. With `stratify`, fewer rows of the rarest class, or with groups of
            the most frequent class.

    Example:
        >>> fold_of_rows(DictionaryEncoded.of(["a", "b"] * 3), None, folds=3, seed=7, stratify=True).tolist()
        [0, 2, 2, 1, 1, 0]
    """
    if groups is not None and len(groups.names) < folds:
        raise DataError(
            "there are too few groups to divide", expected=f"at least {folds}", received=str(len(groups.names))
        )
    counts = classes.counts
    # Groups are not divided, so a fold may lack a rare class.
    rows = (min if groups is None else max)(counts.values()) if stratify else len(classes)
    if rows < folds:
        kind = "rarest" if groups is None else "most frequent"
        fewer = [f"{name!r} ({count})" for name, count in counts.items() if count < folds]
        raise ConfigError(
            "there are too few rows to divide",
            key="folds",
            expected=f"at most {rows}, the rows of the {kind} class" if stratify else f"at most {rows}",
            received=str(folds),
            remedy=f"Classes of fewer rows: {listed(fewer)}." if stratify else "",
        )
    if groups is None:
        divide = (StratifiedKFold if stratify else KFold)(folds, shuffle=True, random_state=seed)
    else:
        divide = (StratifiedGroupKFold if stratify else GroupKFold)(folds, shuffle=True, random_state=seed)
    of_rows = None if groups is None else groups.codes
    parts = np.empty(len(classes), np.int64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # a fold may lack a rare class
        for number, (_, part) in enumerate(divide.split(np.zeros(len(classes)), classes.codes, of_rows)):
            parts[part] = number
    return parts
