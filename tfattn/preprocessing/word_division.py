"""How texts are divided into words, outside of the graph."""

import functools
import importlib.util
from collections.abc import Callable, Iterator
from typing import Literal

from tfattn.errors import ConfigError
from tfattn.preprocessing.word_characters import Rules, WordCharacters

Kind = Literal["letters", "blanks", "jieba"]
Script = Literal["traditional", "simplified"]

_CONVERSIONS = {"traditional": "s2t", "simplified": "t2s"}


class WordDivision:
    """Divides texts into words.

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
        self._script = script
        self._characters = WordCharacters(rules)
        self._as_written = WordCharacters(rules._replace(lower_case=False))
        self._has_blanks = kind != "jieba"

    def __call__(self, text: str) -> list[str]:
        """Return the words of a text."""
        if self._has_blanks:
            return self.spelled(text)
        # jieba knows words with capital letters, too; so case is folded behind it.
        words = _segmenter()(self._converted(text).translate(self._as_written))
        return " ".join(words).translate(self._characters).split()

    def spelled(self, text: str) -> list[str]:
        """Return what stands between blanks, spelled as words are."""
        return self._converted(text).translate(self._characters).split()

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
