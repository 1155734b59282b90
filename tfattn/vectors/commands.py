"""The commands that query, evaluate, convert and draw word vectors."""

from collections.abc import Callable, Sequence
from pathlib import Path

from tfattn import console, files
from tfattn.errors import ConfigError
from tfattn.vectors import word_analogies, word_files, word_similarity
from tfattn.vectors.opening import open_vectors

Print = Callable[[str], None]

SIGNS = ("+", "-")
SYNTACTIC = "gram"  # the prefix of syntactic sections in questions-words.txt


def neighbors(model: str, words: Sequence[str], *, k: int, folder: Path, print: Print) -> None:
    """Print the nearest neighbors of each word."""
    vectors = open_vectors(model, folder)
    for word, found in [
        (word, vectors.neighbors(word, k)) for word in words
    ]:  # all words, or an error before any output
        if len(words) > 1:
            print(word)
        for neighbor, score in found:
            print(f"{score:.4f}  {neighbor}")


def analogy(model: str, sum: Sequence[str], *, k: int, folder: Path, print: Print) -> None:
    """Print the words nearest to a sum of words, such as king - man + woman."""
    positive, negative = parse_sum(sum)
    for word, score in open_vectors(model, folder).analogy(positive, negative, k):
        print(f"{score:.4f}  {word}")


def parse_sum(sum: Sequence[str]) -> tuple[list[str], list[str]]:
    """Parse a sum into added and subtracted words.

    Raises:
        ConfigError: two words have no sign, or several signs, between them.

    Example:
        >>> parse_sum(["king", "-", "man", "+", "woman"])
        (['king', 'woman'], ['man'])
    """
    signed = sum if sum[:1] and sum[0] in SIGNS else ["+", *sum]
    signs, words = signed[::2], signed[1::2]
    if len(signs) != len(words) or not {*signs} <= {*SIGNS} or {*SIGNS} & {*words}:
        raise ConfigError(
            "this is not a sum of words",
            expected="words with + or - between them, separated by blanks, such as king - man + woman",
            received=" ".join(sum),
        )
    pairs = list(zip(signs, words, strict=True))
    return [word for sign, word in pairs if sign == "+"], [word for sign, word in pairs if sign == "-"]


def similarity(model: str, paths: Sequence[Path], *, folder: Path, print: Print) -> None:
    """Print the correlation with human similarity scores, for each file."""
    pairs = [word_similarity.read_pairs(path) for path in paths]
    vectors = open_vectors(model, folder)
    for path, pairs_of_file in zip(paths, pairs, strict=True):
        found = word_similarity.measure(vectors, pairs_of_file)
        figures = f"Spearman {found.spearman:.4f}, Pearson {found.pearson:.4f}"
        print(f"{path.name}: {figures}, {found.covered:,} of {found.pairs:,} pairs covered")


def analogies(model: str, path: Path, *, most_frequent: int | None, folder: Path, print: Print) -> None:
    """Print the accuracy on the analogies of a file, by section and in total."""
    questions = word_analogies.read_sections(path)
    sections = word_analogies.measure(open_vectors(model, folder), questions, most_frequent)
    syntactic = {name: section for name, section in sections.items() if name.startswith(SYNTACTIC)}
    semantic = {name: section for name, section in sections.items() if name not in syntactic}
    shown = dict(sections) if len(sections) > 1 else {}
    if syntactic and semantic:
        shown |= {"semantic": word_analogies.total(semantic), "syntactic": word_analogies.total(syntactic)}
    for name, found in {**shown, "total": word_analogies.total(sections)}.items():
        print(f"{found.accuracy:.4f}  {name}: {found.correct:,} of {found.covered:,}, {found.questions:,} questions")


def vectors(model: str, output: Path, *, folder: Path) -> None:
    """Convert word vectors to another format."""
    word_files.check(output)
    found = open_vectors(model, folder)
    word_files.write(output, found)
    console.note(f"vectors: {len(found):,} words of {found.width} numbers: {output}")


def word_map(model: str, words: Sequence[str], output: Path, *, folder: Path) -> None:
    """Draw a map of words."""
    from tfattn.drawing.figures import FORMATS  # imported here: matplotlib takes a second
    from tfattn.vectors.word_map import word_map

    as_format = files.by_suffix(output, FORMATS)
    content = as_format(word_map(open_vectors(model, folder), words))
    with files.atomic_file(output) as path:
        path.write_bytes(content)
    console.note(f"word map: {output}")
