"""The commands that ask word vectors, measure, convert and draw them. A few lines of glue each."""

from collections.abc import Callable, Sequence
from pathlib import Path

from tfattn import console, files
from tfattn.errors import ConfigError
from tfattn.vectors import word_analogies, word_files, word_similarity
from tfattn.vectors.opening import open_vectors

Print = Callable[[str], None]

SIGNS = ("+", "-")
SYNTACTIC = "gram"  # how the names of syntactic sections begin in questions-words.txt


def neighbors(model: str, words: Sequence[str], *, k: int, folder: Path, print: Print) -> None:
    """Print the words nearest to each of some words."""
    vectors = open_vectors(model, folder)
    for word, found in [(word, vectors.neighbors(word, k)) for word in words]:  # all, or one clear message
        if len(words) > 1:
            print(word)
        for one, score in found:
            print(f"{score:.4f}  {one}")


def analogy(model: str, sum: Sequence[str], *, k: int, folder: Path, print: Print) -> None:
    """Print the words nearest to a sum of words, such as king - man + woman."""
    positive, negative = terms(sum)
    for word, score in open_vectors(model, folder).analogy(positive, negative, k):
        print(f"{score:.4f}  {word}")


def terms(sum: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide a sum into the words that are added and those that are subtracted.

    Raises:
        ConfigError: there is not one sign between every two words.

    Example:
        >>> terms(["king", "-", "man", "+", "woman"])
        (['king', 'woman'], ['man'])
    """
    signed = sum if sum[:1] and sum[0] in SIGNS else ["+", *sum]
    signs, words = signed[::2], signed[1::2]
    if len(signs) != len(words) or not {*signs} <= {*SIGNS} or {*SIGNS} & {*words}:
        raise ConfigError(
            "this is no sum of words",
            expected="words with + or - between them, and blanks around these, such as king - man + woman",
            received=" ".join(sum),
        )
    pairs = list(zip(signs, words, strict=True))
    return [word for sign, word in pairs if sign == "+"], [word for sign, word in pairs if sign == "-"]


def similarity(model: str, paths: Sequence[Path], *, folder: Path, print: Print) -> None:
    """Print how well vectors agree with what people find similar, for each file."""
    pairs = [word_similarity.read_pairs(path) for path in paths]
    vectors = open_vectors(model, folder)
    for path, some in zip(paths, pairs, strict=True):
        found = word_similarity.measure(vectors, some)
        figures = f"Spearman {found.spearman:.4f}, Pearson {found.pearson:.4f}"
        print(f"{path.name}: {figures}, {found.covered:,} of {found.pairs:,} pairs covered")


def analogies(model: str, path: Path, *, most_frequent: int | None, folder: Path, print: Print) -> None:
    """Print how many questions of a file are answered rightly, by section and in all."""
    questions = word_analogies.read_sections(path)
    sections = word_analogies.measure(open_vectors(model, folder), questions, most_frequent)
    syntactic = {name: one for name, one in sections.items() if name.startswith(SYNTACTIC)}
    semantic = {name: one for name, one in sections.items() if name not in syntactic}
    shown = dict(sections) if len(sections) > 1 else {}
    if syntactic and semantic:
        shown |= {"semantic": word_analogies.total(semantic), "syntactic": word_analogies.total(syntactic)}
    for name, found in {**shown, "total": word_analogies.total(sections)}.items():
        print(f"{found.accuracy:.4f}  {name}: {found.right:,} of {found.covered:,}, {found.questions:,} questions")


def vectors(model: str, output: Path, *, folder: Path) -> None:
    """Write word vectors as another format has them."""
    word_files.check(output)
    found = open_vectors(model, folder)
    word_files.write(output, found)
    console.note(f"vectors: {len(found):,} words of {found.width} numbers: {output}")


def word_map(model: str, words: Sequence[str], output: Path, *, folder: Path) -> None:
    """Draw a map of words."""
    from tfattn.drawing.figures import FORMATS  # matplotlib takes a second, and is of no use to the others
    from tfattn.vectors.word_map import word_map

    as_format = files.by_suffix(output, FORMATS)
    content = as_format(word_map(open_vectors(model, folder), words))
    with files.atomic_file(output) as path:
        path.write_bytes(content)
    console.note(f"word map: {output}")
