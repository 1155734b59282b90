"""The commands that need an export and no pipeline, such as predict, prompt and serve. A few lines of glue each.

TensorFlow, which takes seconds, is loaded by those that need it, and not before what can be wrong has been looked at.
"""

import json
from collections.abc import Callable, Collection
from pathlib import Path

from tfattn import console, native
from tfattn.config.build import build
from tfattn.config.resolve import resolve_section
from tfattn.serving.client import glue as glue_files
from tfattn.serving.client import masked_texts, output_lines
from tfattn.serving.client.predict import Predictor
from tfattn.serving.client.predict import predict as predict_rows
from tfattn.serving.client.prompted_model import PromptedModel
from tfattn.serving.client.recipe import Recipe
from tfattn.serving.client.remote import RemoteModel
from tfattn.serving.client.transports.address import is_address
from tfattn.serving.engine import forking
from tfattn.serving.models.models_config import read_config
from tfattn.serving.protocols.listening import check_exposure
from tfattn.serving.server import tensorflow_model_server

Print = Callable[[str], None]


def predict(
    model: str,
    input: str,
    output: str,
    *,
    format: str | None,
    batch_size: int,
    folder: Path,
    token_file: Path | None,
    allow_operations: Collection[str],
    arrays: bool,
) -> None:
    """Write the predictions of an export, or of a model on a server, for a file of inputs."""
    output_lines.format_of(output)  # what cannot be written is refused before anything is loaded
    predictor = _opened(model, folder, token_file=token_file, allow_operations=allow_operations)
    rows = predict_rows(predictor, input, output, kind=format, batch_size=batch_size, arrays=arrays)
    if output != "-":
        console.note(f"{output}: predictions of {rows:,} {'row' if rows == 1 else 'rows'}")


def recipe(path: Path, overrides: list[str] | None) -> Recipe:
    """Read how rows become prompts."""
    return build(resolve_section("prompt", path, overrides))


def prompt(
    recipe: Recipe,
    model: str,
    input: str,
    output: str,
    *,
    has_targets: bool,
    format: str | None,
    batch_size: int,
    folder: Path,
    token_file: Path | None,
) -> None:
    """Write the answers of a language model to the rows of a file, by a recipe, and tell how many are right."""
    output_lines.format_of(output)
    prompted = PromptedModel(_opened(model, folder, token_file=token_file), recipe, has_targets=has_targets)
    predict_rows(prompted, input, output, kind=format, batch_size=batch_size)
    if prompted.num_rows:
        fraction = prompted.num_right / prompted.num_rows
        console.note(f"accuracy {fraction:.4f}: {prompted.num_right:,} of {prompted.num_rows:,} rows")


def fill_mask(model: str, text: str, *, top_k: int, folder: Path, token_file: Path | None, print: Print) -> None:
    """Print the likeliest tokens for each [MASK] of a text, with their probabilities and the text that they make."""
    masked_texts.check(text)
    predictor = _opened(model, folder, token_file=token_file)
    for line in masked_texts.lines(predictor, text, top_k=top_k):
        print(line)


def glue(model: str, task: str, input: str, output: Path, *, folder: Path, print: Print) -> None:
    """Write the predictions for a test file of GLUE, as its website takes them."""
    glue_files.check(task)
    print(str(glue_files.write(_opened(model, folder), task, input, output)))


def serve(models: str, *, with_engine: str, config: Path | None, overrides: list[str] | None, print: Print) -> None:
    """Serve exports until told to end; print the addresses as a line of JSON once the server answers."""
    serving = build(resolve_section("serving", config, overrides))
    path = Path(models) if Path(models).exists() else Path("saved_models") / models

    def announce(what) -> None:  # an Announcement
        console.table("Serving", ["model", "version", "state"], what.rows())
        console.note(f"page: {what.rest}/    gRPC: {what.grpc}")
        console.note(what.curl())
        print(json.dumps({"rest": what.rest, "grpc": what.grpc}))

    if tensorflow_model_server.is_wanted(with_engine):
        tensorflow_model_server.serve(path, serving, lambda rest, grpc: print(json.dumps({"rest": rest, "grpc": grpc})))
        return
    check_exposure(serving)
    read_config(path)
    forking.start()  # the fork server imports TensorFlow while this process does
    native.with_tensorflow("tfattn.serving.server.builtin").serve(path, serving, announce)


def conformance(
    *,
    rest: str | None,
    grpc: str | None,
    models: Path | None,
    with_engine: str,
    overrides: list[str] | None,
    print: Print,
) -> bool:
    """Check a server against what TF Serving answers; print each check, and return whether all passed."""
    run = native.with_tensorflow("tfattn.serving.conformance.run")
    options = {"rest": rest, "grpc": grpc, "models": models, "engine": with_engine, "overrides": overrides or ()}
    results = []
    for result in run.conformance(**options):
        results.append(result)
        print(str(result))
    print(run.summary(results))
    return all(result.outcome != "failed" for result in results)


def _opened(
    model: str, folder: Path, *, token_file: Path | None = None, allow_operations: Collection[str] = ()
) -> Predictor:
    """Load an export, or find a model on a server."""
    if is_address(model):
        return RemoteModel(model, token_file=token_file)
    local = native.with_tensorflow("tfattn.serving.client.local")
    return local.load(model, folder, allow_operations=allow_operations)


def write_models(folder: Path) -> None:
    """Write the models that a server must serve to be checked."""
    native.with_tensorflow("tfattn.serving.conformance.fixtures").write_models(folder)
