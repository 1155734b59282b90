"""Commands for word vectors: neighbors, analogies, evaluation, files and maps."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tfattn.cli.models import Folder

app = typer.Typer()

Vectors = Annotated[
    str,
    typer.Argument(
        help="A file of word vectors (word2vec's text or binary, GloVe's text, fastText's .vec; also .gz), "
        "an export's folder, or its name under saved_models/."
    ),
]
Nearest = Annotated[int, typer.Option("--k", min=1, help="The number of words to print.")]


@app.command()
def neighbors(
    model: Vectors,
    words: Annotated[list[str], typer.Argument(help="The words whose neighbors are printed.")],
    k: Nearest = 10,
    folder: Folder = Path("saved_models"),
) -> None:
    """Print the nearest words of each word, with their cosine similarity."""
    _commands().neighbors(model, words, k=k, folder=folder, print=print)


@app.command()
def analogy(
    model: Vectors,
    sum: Annotated[list[str], typer.Argument(help="Words with + or - between them, such as king - man + woman.")],
    k: Nearest = 10,
    folder: Folder = Path("saved_models"),
) -> None:
    """Print the nearest words of a sum of words, such as king - man + woman."""
    _commands().analogy(model, sum, k=k, folder=folder, print=print)


@app.command("word-similarity")
def word_similarity(
    model: Vectors,
    files: Annotated[
        list[Path], typer.Argument(help="Files with two words and a score per line, such as WordSim-353 or SimLex-999.")
    ],
    folder: Folder = Path("saved_models"),
) -> None:
    """Print the correlation of word vectors with human ratings of similarity."""
    _commands().similarity(model, files, folder=folder, print=print)


@app.command("word-analogies")
def word_analogies(
    model: Vectors,
    file: Annotated[Path, typer.Argument(help="Questions in the format of questions-words.txt: four words per line.")],
    most_frequent: Annotated[
        int | None,
        typer.Option("--most-frequent", min=1, help="Use only the most frequent words, as word2vec does with 30000."),
    ] = None,
    folder: Folder = Path("saved_models"),
) -> None:
    """Print the accuracy of word vectors on analogies, by section."""
    _commands().analogies(model, file, most_frequent=most_frequent, folder=folder, print=print)


@app.command()
def vectors(
    model: Vectors,
    output: Annotated[
        Path, typer.Argument(help=".txt, .vec, .bin, or a folder without a suffix for TensorBoard's projector.")
    ],
    folder: Folder = Path("saved_models"),
) -> None:
    """Write word vectors to a file in the format of word2vec, or for TensorBoard's projector."""
    _commands().vectors(model, output, folder=folder)


@app.command("word-map")
def word_map(
    model: Vectors,
    words: Annotated[list[str], typer.Argument(help="The words to draw, three or more.")],
    output: Annotated[Path, typer.Option("--output", help="A .png, .svg or .pdf.")] = Path("word_map.png"),
    folder: Folder = Path("saved_models"),
) -> None:
    """Draw a map of words, on which words with similar vectors are close to each other."""
    _commands().word_map(model, words, output, folder=folder)


def _commands() -> Any:
    from tfattn.vectors import commands

    return commands
