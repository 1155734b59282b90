"""The contract of what restricts a text while it is written."""

from typing import Protocol

import numpy as np


class Guide(Protocol):
    """Says at each place which tokens may stand there, such as those that go on with one of some texts."""

    def allowed(self) -> np.ndarray | None:
        """Return which tokens may come next, (V,) bool, of which one at least is True; None for all."""

    def advance(self, token_id: int) -> None:
        """Note that a token was written."""
