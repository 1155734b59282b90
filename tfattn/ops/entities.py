"""Entities as runs of labelled words, and the counts of equal entities of two labellings.

Labels are IOB2 tags: 0 is O, 2 k + 1 is B of type k, 2 k + 2 is I. Invalid sequences are read as by conlleval and
seqeval: an I that does not continue an entity starts an entity.
"""

from typing import Any

from keras import ops


def bounds(label_ids: Any, mask: Any) -> tuple[Any, Any, Any]:
    """Find the first and last words of entities.

    Args:
        label_ids: (B, W) int, the labels of words.
        mask: (B, W) bool, True at real words, which are at the start of a row.

    Returns:
        the type of each word's entity, from 1, or 0 outside of entities, (B, W) int32; and the first and last words of
        entities, (B, W) bool each.

    Example:
        >>> types, first, last = bounds(ops.array([[1, 2, 2, 0, 4]]), ops.ones((1, 5), "bool"))
        >>> types.numpy().tolist(), first.numpy().tolist(), last.numpy().tolist()
        ([[1, 1, 1, 0, 2]], [[True, False, False, False, True]], [[False, False, True, False, True]])
    """
    label_ids = ops.where(mask, ops.cast(label_ids, "int32"), 0)
    types = (label_ids + 1) // 2
    before = ops.pad(types[:, :-1], [[0, 0], [1, 0]])
    is_inside = types > 0
    is_first = ops.logical_and(is_inside, ops.logical_or(label_ids % 2 == 1, types != before))
    goes_on = ops.cast(ops.logical_and(is_inside, ops.logical_not(is_first)), "int32")
    goes_on = ops.pad(goes_on[:, 1:], [[0, 0], [0, 1]]) > 0
    return types, is_first, ops.logical_and(is_inside, ops.logical_not(goes_on))


def counts(true_ids: Any, given_ids: Any, mask: Any, *, num_types: int) -> dict[str, Any]:
    """Count the true, predicted and correct entities of each type.

    Args:
        true_ids, given_ids: (B, W) int, true and predicted labels of words.
        mask: as `bounds`.
        num_types: K.

    Returns:
        `true`, `given` and `right`, (K,) float32 each; an entity is right if type, start and end are.
    """
    true_types, true_first, true_last = bounds(true_ids, mask)
    given_types, given_first, given_last = bounds(given_ids, mask)
    same = ops.logical_and(true_types == given_types, _ends(true_last) == _ends(given_last))
    is_right = ops.logical_and(ops.logical_and(true_first, given_first), same)
    return {
        "true": _by_type(true_types, true_first, num_types),
        "given": _by_type(given_types, given_first, num_types),
        "right": _by_type(true_types, is_right, num_types),
    }


def _ends(is_last: Any) -> Any:
    """Find the end of the entity of each word, or of the next entity: (B, W) int32."""
    width = ops.shape(is_last)[1]
    ends = ops.sort(ops.where(is_last, ops.arange(width, dtype="int32")[None, :], width), axis=1)
    ended = ops.cast(is_last, "int32")
    return ops.take_along_axis(ends, ops.cumsum(ended, axis=1) - ended, axis=1)


def _by_type(types: Any, chosen: Any, num_types: int) -> Any:
    one_hot = ops.one_hot(ops.where(chosen, types, 0), num_types + 1, dtype="float32")
    return ops.sum(one_hot, axis=(0, 1))[1:]
