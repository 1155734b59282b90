"""A network as a deterministic automaton over bytes, whose states are made when they are first met.

A state is a set of threads: each a state of the network, and the stack of states that wait behind the rules it is in.
Every thread that is kept can be brought to an end, so every beginning of a text that is let through can be, too.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from tfattn.errors import ServingError
from tfattn.guidance.network import MOST_CALLS, Network

Stack = tuple[int, "Stack", int] | None  # the state that waits, those below it, how many they are
Thread = tuple[int, Stack]
Threads = frozenset[Thread]

ACCEPT: Thread = (-1, None)
DEAD = 0  # the number of the state that nothing leaves
MOST_THREADS = 256  # of what can be read in more ways, some are followed
MOST_STATES = 8_000  # of a table; then it is begun anew
MOST_WORK = 300_000  # threads that are followed for one mask: about half a second


class Automaton:
    """Follows bytes through a network.

    States have numbers, which hold until `number` is called next. Until then, too, so much work is done at most; what
    would take more is refused, for others wait meanwhile.

    Args:
        network: one that is not empty.

    Raises:
        ServingError: a state takes too much work; so do `next` and `after`.

    Attributes:
        start: the threads of the first state.

    Example:
        >>> automaton = Automaton(Network(exactly("ab"), {}))
        >>> state = automaton.after(automaton.number(automaton.start), b"ab")
        >>> automaton.accepts(state)
        True
    """

    def __init__(self, network: Network):
        self._network = network
        self._work = 0
        self._returns = [self._only_returns(state) for state in range(len(network.edges))]
        self.start = self._closed([(network.start, None)])
        self._forget()

    def number(self, threads: Threads) -> int:
        """Return the number of a state."""
        self._work = 0
        if len(self._threads) > MOST_STATES:
            self._forget()
        return self._number(threads)

    def threads(self, state: int) -> Threads:
        """Return the threads of a state."""
        return self._threads[state]

    def accepts(self, state: int) -> bool:
        """Tell whether a text may end in a state."""
        return ACCEPT in self._threads[state]

    def goes_on(self, state: int) -> bool:
        """Tell whether anything may follow in a state."""
        return bool(self._threads[state] - {ACCEPT})

    def next(self, states: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Follow a byte from each of many states.

        Args:
            states: their numbers, (N,).
            values: the bytes, (N,).

        Returns:
            the numbers of the states behind them, (N,); DEAD where the byte may not follow.
        """
        met = np.zeros(len(self._threads), bool)
        met[states] = True
        for state in np.flatnonzero(met & ~self._known[: len(met)]):
            self._learn(int(state))
        return self._table[states, values]

    def after(self, state: int, text: bytes) -> int:
        """Follow a text from a state."""
        for value in text:
            if not self._known[state]:
                self._learn(state)
            state = int(self._table[state, value])
        return state

    def _forget(self) -> None:
        self._numbers: dict[Threads, int] = {}
        self._threads: list[Threads] = []
        self._table = np.zeros((64, 256), np.int32)
        self._known = np.zeros(64, bool)
        self._number(frozenset())  # DEAD

    def _number(self, threads: Threads) -> int:
        if threads not in self._numbers:
            self._numbers[threads] = len(self._threads)
            self._threads.append(threads)
            if len(self._threads) > len(self._known):
                self._table = np.concatenate([self._table, np.zeros_like(self._table)])
                self._known = np.concatenate([self._known, np.zeros_like(self._known)])
        return self._numbers[threads]

    def _learn(self, state: int) -> None:
        """Fill in the row of a state, a range of bytes that lead to the same at a time."""
        edges = [
            (low, high, (target, stack))
            for thread, stack in self._threads[state] - {ACCEPT}
            for low, high, target in self._network.edges[thread]
        ]
        bounds = sorted({bound for low, high, _ in edges for bound in (low, high + 1)})
        self._count(len(edges) * len(bounds) // 8)
        row = np.zeros(256, np.int32)
        numbers: dict[Threads, int] = {}
        for first, last in zip(bounds, bounds[1:], strict=False):
            reached = frozenset(thread for low, high, thread in edges if low <= first <= high)
            if reached not in numbers:
                numbers[reached] = self._number(self._closed(reached))
            row[first:last] = numbers[reached]
        self._table[state] = row
        self._known[state] = True

    def _closed(self, threads: Iterable[Thread]) -> Threads:
        """Follow what needs no byte: the threads that wait for a byte, or have ended."""
        open_threads = list(threads)
        met: set[Thread] = set()
        waiting: dict[Thread, None] = {}
        while open_threads and len(waiting) < MOST_THREADS:
            thread = open_threads.pop()
            if thread in met:
                continue
            met.add(thread)
            self._count(1)
            if thread == ACCEPT or self._network.edges[thread[0]]:
                waiting[thread] = None
            if thread != ACCEPT:
                open_threads += self._without_byte(*thread)
        return frozenset(waiting)

    def _count(self, work: int) -> None:
        self._work += work
        if self._work > MOST_WORK:
            raise ServingError(
                "what guides the text can be read in too many ways",
                remedy="Say it so that the beginning of a part tells which part it is.",
            )

    def _without_byte(self, state: int, stack: Stack) -> Iterator[Thread]:
        if state in self._network.ends:
            yield (stack[0], stack[1]) if stack else ACCEPT
        for target in self._network.skips[state]:
            if self._can_end(target, stack):
                yield target, stack
        for start, behind in self._network.calls[state]:
            if self._can_end(behind, stack):
                inner = stack if self._returns[behind] else (behind, stack, _depth(stack) + 1)
                if self._can_end(start, inner):
                    yield start, inner

    def _can_end(self, state: int, stack: Stack) -> bool:
        return _depth(stack) + self._network.heights[state] <= MOST_CALLS

    def _only_returns(self, state: int) -> bool:
        """Tell whether a state is nothing but the end of its rule: nobody has to wait in it."""
        network = self._network
        targets = network.skips[state]
        return len(targets) == 1 and targets[0] in network.ends and not (network.edges[state] or network.calls[state])


def _depth(stack: Stack) -> int:
    return stack[2] if stack else 0
