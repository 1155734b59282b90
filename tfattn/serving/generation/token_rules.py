"""Rules of a request on which tokens may come next in a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class TokenRules:
    """Which tokens a request allows, whatever else guides the text.

    Attributes:
        allowed_ids: the only tokens that may come; None where all may.
        banned: token sequences, of each of which the last token may not follow the others.
        min_tokens: how many tokens a text has before one of `end_ids` may end it.
        end_ids: tokens each of which ends a text.

    Example:
        >>> TokenRules(banned=((1, 2),)).mask([0, 1], vocabulary_size=4)
        array([ True,  True, False,  True])
    """

    allowed_ids: tuple[int, ...] | None = None
    banned: tuple[tuple[int, ...], ...] = ()
    min_tokens: int = 0
    end_ids: frozenset[int] = frozenset()

    @property
    def allow_everything(self) -> bool:
        """Whether there is no rule."""
        return self.allowed_ids is None and not self.banned and not self.min_tokens

    def mask(self, written: Sequence[int], *, vocabulary_size: int) -> np.ndarray:
        """Return which tokens (V,) bool may follow the tokens that were written."""
        mask = np.full(vocabulary_size, self.allowed_ids is None)
        mask[list(self.allowed_ids or ())] = True
        for *before, last in self.banned:
            if len(before) <= len(written) and list(written[len(written) - len(before) :]) == before:
                mask[last] = False
        if len(written) < self.min_tokens:
            mask[list(self.end_ids)] = False
        return mask
