"""Expressions as a network of states, with bytes on its edges: a recursive transition network.

Each rule is a part of the network with one start and one end. To write what a rule stands for is a call: the state
behind it waits on a stack until the rule has ended. (Woods 1970, "Transition network grammars for natural language
analysis"; the states of a rule are Thompson's.)
"""

from collections.abc import Mapping

from tfattn.errors import ServingError
from tfattn.guidance.code_points import EVERY, Ranges, byte_sequences, common
from tfattn.guidance.expressions import Characters, Choice, Expression, Repeat, Rule, Sequence, Shared, Texts

MOST_STATES = 100_000
MOST_CALLS = 128  # that wait at the same time: lists of lists of lists ... have an end
NEVER = 1 << 30


class Network:
    """The states of an expression.

    Args:
        root: what is to be written.
        rules: what names stand for.
        alphabet: the characters that can be written.

    Attributes:
        start: the first state.
        edges: of each state, (low, high, target): with a byte between these two.
        skips: of each state, the targets that need no byte.
        calls: of each state, (start of a rule, state behind it).
        ends: the states in which a rule has ended; no state follows them but the one that waits.
        heights: of each state, how many calls have to wait at the same time until its rule has ended, at the least;
            NEVER where it cannot end.

    Raises:
        ServingError: it would have more than MOST_STATES states.
    """

    def __init__(self, root: Expression, rules: Mapping[str, Expression], alphabet: Ranges = EVERY):
        self.edges: list[list[tuple[int, int, int]]] = []
        self.skips: list[list[int]] = []
        self.calls: list[list[tuple[int, int]]] = []
        self.ends: set[int] = set()
        self._alphabet = alphabet
        self._starts: dict[str | int | None, int] = {}  # by the name of a rule, or the identity of a shared part
        self._unbuilt: list[tuple[Expression, int]] = []
        self.start = self._rule(None, root)
        while self._unbuilt:
            expression, start = self._unbuilt.pop()
            if isinstance(expression, Rule):  # whose body is known by now
                expression = rules[expression.name]
            end = self._state()
            self.skips[self._built(expression, start)].append(end)
            self.ends.add(end)
        self.heights = self._heights()

    @property
    def is_empty(self) -> bool:
        """Whether there is no text at all that fits."""
        return self.heights[self.start] == NEVER

    def _state(self) -> int:
        if len(self.edges) == MOST_STATES:
            raise ServingError("what guides the text is too large", expected=f"at most {MOST_STATES:,} states")
        self.edges.append([])
        self.skips.append([])
        self.calls.append([])
        return len(self.edges) - 1

    def _rule(self, key: str | int | None, expression: Expression) -> int:
        """Return the start of a rule, which is built later if it is not yet."""
        if key not in self._starts:
            self._starts[key] = self._state()
            self._unbuilt.append((expression, self._starts[key]))
        return self._starts[key]

    def _call(self, key: str | int, expression: Expression, state: int) -> int:
        behind = self._state()
        self.calls[state].append((self._rule(key, expression), behind))
        return behind

    def _built(self, expression: Expression, state: int) -> int:
        """Build an expression from a state on, and return the state behind it."""
        match expression:
            case Texts(values):
                state = self._texts(values, state)
            case Characters(ranges):
                state = self._characters(ranges, state)
            case Sequence(parts):
                for part in parts:
                    state = self._built(part, state)
            case Choice(options):
                behind = self._state()
                for option in options:
                    self.skips[state].append(self._state())
                    self.skips[self._built(option, self.skips[state][-1])].append(behind)
                state = behind
            case Repeat(part, least, most):
                state = self._repeated(part, least, most, state)
            case Shared(part):
                state = self._call(id(part), part, state)
            case Rule(name):
                state = self._call(name, expression, state)
        return state

    def _texts(self, texts: tuple[str, ...], state: int) -> int:
        """Build a tree, in which texts with the same beginning share states."""
        behind, root = self._state(), self._state()
        self.skips[state].append(root)
        known: dict[tuple[int, int], int] = {}  # by a state and the byte that leads on
        characters = set().union(*texts)
        writable = {one for one in characters if common([(ord(one), ord(one))], self._alphabet)}
        for text in texts:
            if not writable.issuperset(text):
                continue
            place = root
            for value in text.encode():
                if (place, value) not in known:
                    known[place, value] = self._state()
                    self.edges[place].append((value, value, known[place, value]))
                place = known[place, value]
            self.skips[place].append(behind)
        return behind

    def _characters(self, ranges: Ranges, state: int) -> int:
        behind = self._state()
        shared: dict[tuple[int, int, int], int] = {}  # states from which the same bytes lead to the same state
        for sequence in byte_sequences(common(ranges, self._alphabet)):
            target = behind
            for low, high in reversed(sequence[1:]):
                if (low, high, target) not in shared:
                    shared[low, high, target] = self._state()
                    self.edges[shared[low, high, target]].append((low, high, target))
                target = shared[low, high, target]
            self.edges[state].append((*sequence[0], target))
        return behind

    def _repeated(self, part: Expression, least: int, most: int | None, state: int) -> int:
        if max(least + (most is None), most or 0) > 1:
            part = part if isinstance(part, (Characters, Shared, Rule)) else Shared(part)
        for _ in range(least):
            state = self._built(part, state)
        if most is None:
            loop = self._state()
            self.skips[state].append(loop)
            self.skips[self._built(part, loop)].append(loop)
            return loop
        behind = self._state()
        for _ in range(most - least):
            self.skips[state].append(behind)
            state = self._built(part, state)
        self.skips[state].append(behind)
        return behind

    def _heights(self) -> list[int]:
        """Compute the heights from the ends backwards, each as often as it falls."""
        before: list[list[int]] = [[] for _ in self.edges]  # the states whose height depends on that of another
        for state in range(len(self.edges)):
            targets = [target for _, _, target in self.edges[state]] + self.skips[state]
            for target in targets + [one for call in self.calls[state] for one in call]:
                before[target].append(state)
        heights = [NEVER] * len(self.edges)
        falling = list(self.ends)
        for end in falling:
            heights[end] = 0
        while falling:
            for state in before[falling.pop()]:
                ways = [heights[target] for _, _, target in self.edges[state]]
                ways += [heights[target] for target in self.skips[state]]
                ways += [max(1 + heights[start], heights[behind]) for start, behind in self.calls[state]]
                height = min([*ways, NEVER])
                if height < heights[state]:
                    heights[state] = height
                    falling.append(state)
        return heights
