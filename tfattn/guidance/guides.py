"""Guides for the texts of a model, by what requests ask for."""

import json
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tfattn.errors import ServingError
from tfattn.guidance.guide import WHOLE, Guide, Masks
from tfattn.guidance.plan import asked, plan_of
from tfattn.guidance.tokens import Tokens

MOST_KEPT = 16  # automata with their masks


class Guides:
    """Makes guides for the texts that a model writes; any thread may ask.

    Args:
        token_bytes: what each token adds to a text, V of them; nothing for a token that is no text.
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        self._tokens = Tokens(token_bytes)
        self._kept: OrderedDict[str, Masks] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, fields: Mapping[str, Any], *, end_ids: Collection[int]) -> Guide | None:
        """Make the guide that the fields of a request ask for.

        Args:
            fields: see `plan.asked`.
            end_ids: the tokens that end a text. Without any, it ends where nothing can follow.

        Returns:
            a guide, or None where the text may be anything.

        Raises:
            ServingError: it is not clear what is asked, or it cannot be held to; `where` is the place in the request.
        """
        found = asked(fields)
        if not found:
            return None
        key = json.dumps(found, ensure_ascii=False)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self._masks(*found.popitem())
                if len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return Guide(self._kept[key], end_ids)

    def _masks(self, name: str, value: Any) -> Masks:
        network = plan_of(name, value).network(self._tokens.alphabet)
        masks = Masks(self._tokens, network, where=name)
        if masks.start == WHOLE:
            raise ServingError("only an empty text fits", where=name, expected="something to write")
        return masks
