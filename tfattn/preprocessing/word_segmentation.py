"""Segmentation of texts into words, outside the graph."""

import functools
import importlib.util
from collections.abc import Callable, Iterator
from typing import Literal

from tfattn.errors import ConfigError
from tfattn.preprocessing.word_characters import Rules, WordCharacters

Division = Literal["letters", "blanks", "jieba"]
Script = Literal["traditional", "simplified"]

_CONVERSIONS = {"traditional": "s2t", "simplified": "t2s"}


class WordSegmenter:
    """Segmenter of texts into words.

    Args:
        division: `letters`, `blanks`, or `jieba` for Chinese.
        rules: the character rules of words.
        script: the Chinese script into which texts are converted first; None for no conversion.

    Raises:
        ConfigError: a required package is not installed.
    """

    def __init__(self, division: Division, rules: Rules, script: Script | None):
        if division == "jieba":
            _check_installed("division", division, "jieba")
        if script is not None:
            _check_installed("script", script, "opencc")
        self._script = script
        self._characters = WordCharacters(rules)
        self._keep_case = WordCharacters(rules._replace(lower_case=False))
        self._has_blanks = division != "jieba"

    def __call__(self, text: str) -> list[str]:
        """Return the words of a text."""
        if self._has_blanks:
            return self.split_at_blanks(text)
        # The dictionary of jieba has words with capital letters, so case is folded afterwards.
        words = _segmenter()(self._converted(text).translate(self._keep_case))
        return " ".join(words).translate(self._characters).split()

    def split_at_blanks(self, text: str) -> list[str]:
        """Split a text at blanks, and normalize its words."""
        return self._converted(text).translate(self._characters).split()

    def _converted(self, text: str) -> str:
        return text if self._script is None else _converter(self._script)(text)


def _check_installed(key: str, value: str, module: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise ConfigError(
            f"the package {module} is not installed",
            key=key,
            expected=f"{module}, for `{key}: {value}`",
            received="no such package",
            remedy="Run: pip install 'tfattn[chinese]'",
        )


@functools.cache
def _segmenter() -> Callable[[str], Iterator[str]]:
    """Load the dictionary of jieba, without its log lines and its cache in the folder of temporary files."""
    import jieba

    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer.cut


@functools.cache
def _converter(script: Script) -> Callable[[str], str]:
    import opencc

    return opencc.OpenCC(_CONVERSIONS[script]).convert
