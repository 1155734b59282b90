"""Gradients that are given in their closed form."""

from collections.abc import Sequence
from typing import Any


def handed_over(arguments: Sequence[Any], upstream: Any) -> Any:
    """Return the gradient of what a function of `ops.custom_gradient` returned: backends differ in how they give it.

    Args:
        arguments: which the function of the gradient got; and
        upstream: its argument of that name, None where it got none.
    """
    return arguments[0] if upstream is None else upstream
