"""Guides of requests, with a cache of compile_grammar grammars."""

import functools
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from llguidance import LLMatcher

from tfattn.errors import ServingError
from tfattn.guidance.grammar import TOOL_CALLS, guiding_field, unwritable
from tfattn.guidance.guide import Guide, compute_mask
from tfattn.guidance.matcher import compile_grammar
from tfattn.guidance.sandbox import Sandbox
from tfattn.guidance.triggered_guide import Trigger, TriggeredGuide
from tfattn.guidance.vocabulary import Vocabulary

MAX_CACHED = 16  # compile_grammar grammars
THREADS = 2  # that compute masks


class Compiled(NamedTuple):
    """A grammar that is compile_grammar for a vocabulary, and the mask of the first token."""

    matcher: LLMatcher
    first: np.ndarray


class Guides:
    """The guides of the texts of a model; thread-safe.

    Args:
        token_bytes: the bytes of each of the V tokens; empty for special tokens.
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        self._vocabulary = Vocabulary(token_bytes)
        self._trigger = functools.lru_cache(MAX_CACHED)(functools.partial(Trigger.of, token_bytes=tuple(token_bytes)))
        self._sandbox = Sandbox()
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="masks")
        self._cache: OrderedDict[str, Compiled] = OrderedDict()
        self._lock = threading.Lock()

    def guide(self, fields: Mapping[str, Any], *, end_ids: Collection[int]) -> Guide | TriggeredGuide | None:
        """Create the guide of a request.

        Args:
            fields: see `grammar.guiding_field`.
            end_ids: the tokens that end a text; without such tokens, a text ends if no token can follow.

        Returns:
            a guide; None if any text is allowed.

        Raises:
            ServingError: the field is invalid, or not supported; `where` is the location in the request.
        """
        found = guiding_field(fields)
        if not found:
            return None
        key = json.dumps(found, ensure_ascii=False)
        ((name, value),) = found.items()
        with self._lock:
            if key not in self._cache:
                self._cache[key] = self._compiled(name, value)
                if len(self._cache) > MAX_CACHED:
                    self._cache.popitem(last=False)
            self._cache.move_to_end(key)
            matcher, first = self._cache[key]
            matcher = matcher.deep_copy()
        may_stop = name != TOOL_CALLS
        guide = Guide(matcher, first, end_ids=end_ids, executor=self._executor, where=name, may_stop=may_stop)
        if may_stop or value["trigger"] is None:
            return guide
        begins = [call["begin"] for call in value["calls"]]
        return TriggeredGuide(guide, self._trigger(value["trigger"], os.path.commonprefix(begins)))

    def _compiled(self, name: str, value: Any) -> Compiled:
        grammar = self._sandbox.grammar(name, value, self._vocabulary.alphabet)
        matcher = compile_grammar(self._vocabulary, grammar, where=name)
        try:
            first = compute_mask(matcher, self._vocabulary.size, where=name)
        except ServingError as error:  # a vocabulary of bytes could form a text
            raise unwritable(name) if error.what == "no text is valid" else error from None
        if not first[:-1].any():
            raise ServingError("only an empty text is valid", where=name, expected="a guide with other valid texts")
        return Compiled(matcher, first)
