"""How texts are divided into words, outside of the graph."""

import functools
import importlib.util
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Literal

from tfattn.errors import ConfigError
from tfattn.preprocessing.word_characters import Rules, WordCharacters

Kind = Literal["letters", "blanks", "jieba"]
Script = Literal["traditional", "simplified"]

# Characters of the last texts whose words are still known: as many as are encoded together.
_REMEMBERED = 1 << 20
_CONVERSIONS = {"traditional": "s2t", "simplified": "t2s"}


class WordDivision:
    """Divides texts into words.

    What the last texts were divided into is remembered: they are asked for again when what is unknown has been counted.

    Args:
        kind: `letters`, `blanks` or `jieba`, which finds the words of Chinese texts.
        rules: what words are made of.
        script: which Chinese script texts are turned into first; None leaves them as they are.

    Raises:
        ConfigError: a package that this needs is not installed.
    """

    def __init__(self, kind: Kind, rules: Rules, script: Script | None):
        if kind == "jieba":
            _check_installed("division", kind, "jieba")
        if script is not None:
            _check_installed("script", script, "opencc")
        self._kind, self._script = kind, script
        self._characters = WordCharacters(rules)
        self._as_written = WordCharacters(rules._replace(lower_case=False))
        self._remembered: OrderedDict[str, list[str]] = OrderedDict()
        self._size = 0

    def __call__(self, text: str) -> list[str]:
        """Return the words of a text, which are not to be changed."""
        words = self._remembered.get(text)
        if words is None:
            words = self._remembered[text] = self._divided(text)
            self._size += len(text)
            while self._size > _REMEMBERED:
                self._size -= len(self._remembered.popitem(last=False)[0])
        return words

    def spelled(self, text: str) -> list[str]:
        """Return the words that stand between blanks, spelled as texts would have them."""
        return self._converted(text).translate(self._characters).split()

    def _divided(self, text: str) -> list[str]:
        if self._kind != "jieba":
            return self.spelled(text)
        # It knows words with capital letters, too; so case is folded behind it.
        words = _segmenter()(self._converted(text).translate(self._as_written))
        return " ".join(words).translate(self._characters).split()

    def _converted(self, text: str) -> str:
        return text if self._script is None else _converter(self._script)(text)


def _check_installed(key: str, value: str, module: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise ConfigError(
            f"the package {module} is not installed",
            key=key,
            expected=f"it, for `{key}: {value}`",
            received="no such package",
            remedy="Run: pip install 'tfattn[chinese]'",
        )


@functools.cache
def _segmenter() -> Callable[[str], Iterator[str]]:
    """Load jieba's dictionary: without a word, and not from its cache in the folder of temporary files."""
    import jieba

    found = jieba.Tokenizer()
    found.FREQ, found.total = found.gen_pfdict(found.get_dict_file())
    found.initialized = True
    return found.cut


@functools.cache
def _converter(script: Script) -> Callable[[str], str]:
    import opencc

    return opencc.OpenCC(_CONVERSIONS[script]).convert
