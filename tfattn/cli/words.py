"""The commands that ask vectors of words."""

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
Nearest = Annotated[int, typer.Option("--k", min=1, help="How many words to tell.")]


@app.command()
def neighbors(
    model: Vectors,
    words: Annotated[list[str], typer.Argument(help="The words to ask about.")],
    k: Nearest = 10,
    folder: Folder = Path("saved_models"),
) -> None:
    """Tell the words nearest to a word, with the cosine of the angle between them."""
    _commands().neighbors(model, words, k=k, folder=folder, print=print)


@app.command()
def analogy(
    model: Vectors,
    sum: Annotated[list[str], typer.Argument(help="Words with + or - between them, such as king - man + woman.")],
    k: Nearest = 10,
    folder: Folder = Path("saved_models"),
) -> None:
    """Tell the words nearest to a sum of words, such as king - man + woman."""
    _commands().analogy(model, sum, k=k, folder=folder, print=print)


@app.command("word-similarity")
def word_similarity(
    model: Vectors,
    files: Annotated[
        list[Path], typer.Argument(help="Two words and a score in each line, such as WordSim-353's or SimLex-999's.")
    ],
    folder: Folder = Path("saved_models"),
) -> None:
    """Tell how well word vectors agree with people on which words are similar."""
    _commands().similarity(model, files, folder=folder, print=print)


@app.command("word-analogies")
def word_analogies(
    model: Vectors,
    file: Annotated[Path, typer.Argument(help="Questions as questions-words.txt has them: four words in each line.")],
    most_frequent: Annotated[
        int | None,
        typer.Option(
            "--most-frequent", min=1, help="Count only so many of the first words, as word2vec's own measure: 30000."
        ),
    ] = None,
    folder: Folder = Path("saved_models"),
) -> None:
    """Tell how many analogies word vectors answer rightly, by section."""
    _commands().analogies(model, file, most_frequent=most_frequent, folder=folder, print=print)


@app.command()
def vectors(
    model: Vectors,
    output: Annotated[
        Path, typer.Argument(help=".txt or .vec, .bin, or a folder without a suffix for TensorBoard's projector.")
    ],
    folder: Folder = Path("saved_models"),
) -> None:
    """Write word vectors into a file that word2vec, gensim and others read, or for TensorBoard's projector."""
    _commands().vectors(model, output, folder=folder)


@app.command("word-map")
def word_map(
    model: Vectors,
    words: Annotated[list[str], typer.Argument(help="The words to draw, three or more.")],
    output: Annotated[Path, typer.Option("--output", help="A .png, .svg or .pdf.")] = Path("word_map.png"),
    folder: Folder = Path("saved_models"),
) -> None:
    """Draw a map of words, on which words of similar vectors are near to each other."""
    _commands().word_map(model, words, output, folder=folder)


def _commands() -> Any:
    from tfattn.vectors import commands

    return commands
