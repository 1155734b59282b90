"""Guides for the texts of a model, by what requests ask for."""

import json
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from llguidance import LLMatcher

from tfattn.errors import ServingError
from tfattn.guidance.grammar import requested, unwritable
from tfattn.guidance.guide import Guide, computed
from tfattn.guidance.matcher import compiled
from tfattn.guidance.sandbox import Sandbox
from tfattn.guidance.vocabulary import Vocabulary

MAX_KEPT = 16  # compiled grammars
THREADS = 2  # that compute masks


class Compiled(NamedTuple):
    """A grammar that was compiled for a vocabulary, and the mask of the first token."""

    matcher: LLMatcher
    first: np.ndarray


class Guides:
    """Makes guides for the texts of a model; any thread may ask.

    Args:
        token_bytes: what each token adds to a text, V of them; nothing for a token that is no text.
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        self._vocabulary = Vocabulary(token_bytes)
        self._sandbox = Sandbox()
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="masks")
        self._kept: OrderedDict[str, Compiled] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, fields: Mapping[str, Any], *, end_ids: Collection[int]) -> Guide | None:
        """Make the guide that the fields of a request ask for.

        Args:
            fields: see `grammar.requested`.
            end_ids: the tokens that end a text. Without any, it ends where nothing can follow.

        Returns:
            a guide, or None where the text may be anything.

        Raises:
            ServingError: it is not clear what is asked, or it cannot be held to; `where` is the place in the request.
        """
        found = requested(fields)
        if not found:
            return None
        key = json.dumps(found, ensure_ascii=False)
        ((name, value),) = found.items()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self._compiled(name, value)
                if len(self._kept) > MAX_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            matcher, first = self._kept[key]
            return Guide(matcher.deep_copy(), first, end_ids=end_ids, executor=self._executor, where=name)

    def _compiled(self, name: str, value: Any) -> Compiled:
        grammar = self._sandbox.grammar(name, value, self._vocabulary.alphabet)
        matcher = compiled(self._vocabulary, grammar, where=name)
        try:
            first = computed(matcher, self._vocabulary.size, where=name)
        except ServingError as error:  # bytes could write a text
            raise unwritable(name) if error.what == "no text fits" else error from None
        if not first[:-1].any():
            raise ServingError("only an empty text fits", where=name, expected="something to write")
        return Compiled(matcher, first)
