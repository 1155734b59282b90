"""The commands that need an export and no pipeline, such as predict, prompt and serve.

Importing TensorFlow takes seconds, so commands import it only if they need it, after they have checked their arguments.
"""

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from tfattn import console, native
from tfattn.config.build import build
from tfattn.config.resolve import resolve_section
from tfattn.errors import DataError, RefusedError
from tfattn.litert import Engine
from tfattn.serving.client import glue as glue_files
from tfattn.serving.client import output_lines
from tfattn.serving.client.predict import Predictor, said
from tfattn.serving.client.predict import predict as predict_rows
from tfattn.serving.client.prompted_model import PromptedModel
from tfattn.serving.client.recipe import Recipe
from tfattn.serving.client.remote import RemoteModel
from tfattn.serving.client.transports.address import is_address
from tfattn.serving.engine import forking
from tfattn.serving.models.models_config import read_config
from tfattn.serving.protocols.listening import check_exposure
from tfattn.serving.section import Serving
from tfattn.serving.server import tensorflow_model_server

Print = Callable[[str], None]
MASK = "[MASK]"


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
    engine: Engine,
    arrays: bool,
    append: bool,
) -> None:
    """Write the predictions of an export, or of a model on a server, for a file of inputs."""
    output_lines.format_of(output)  # checks the format before loading the model
    options = {"allow_operations": allow_operations, "engine": engine}
    predictor = open_model(model, folder, token_file=token_file, **options)
    rows = predict_rows(predictor, input, output, kind=format, batch_size=batch_size, arrays=arrays, append=append)
    if output != "-":
        console.note(f"{output}: predictions of {rows:,} {'row' if rows == 1 else 'rows'}")


def recipe(path: str | Path, overrides: list[str] | None) -> Recipe:
    """Read the recipe that turns rows into prompts."""
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
    """Write the answers of a language model to the rows of a file, and print the accuracy."""
    output_lines.format_of(output)
    prompted = PromptedModel(open_model(model, folder, token_file=token_file), recipe, has_targets=has_targets)
    predict_rows(prompted, input, output, kind=format, batch_size=batch_size)
    if prompted.num_rows:
        fraction = prompted.num_right / prompted.num_rows
        console.note(f"accuracy {fraction:.4f}: {prompted.num_right:,} of {prompted.num_rows:,} rows")


def fill_mask(model: str, text: str, *, top_k: int, folder: Path, token_file: Path | None, print: Print) -> None:
    """Print the most likely tokens for each [MASK] of a text, with their probabilities and the completed text."""
    check_mask(text)
    predictor = open_model(model, folder, token_file=token_file)
    for line in mask_lines(predictor, text, top_k=top_k):
        print(line)


def check_mask(text: str) -> None:
    """Check that a text has a mask.

    Raises:
        DataError: it has no [MASK].
    """
    if MASK not in text:
        raise DataError(
            f"the text has no {MASK}", expected=f"{MASK} in capitals in place of a word", received=repr(text)
        )


def mask_lines(model: Predictor, text: str, *, top_k: int) -> Iterator[str]:
    """Yield a line for each of the most likely tokens of each mask: probability, token, and the completed text.

    Raises:
        ServingError: the model is not a masked language model.
        DataError: the model refuses the text.
    """
    try:
        (outputs,) = model.predict([dict.fromkeys(model.trained_on.columns, text)], signature="all_masks")
    except RefusedError as error:
        raise DataError("the model refuses the text", received=said(error)) from None
    for mask in range(outputs["masks"]):
        if outputs["masks"] > 1:
            yield f"{MASK} {mask + 1} of {outputs['masks']}"
        columns = (outputs[name][mask][:top_k] for name in ("score", "token_str", "sequence"))
        for score, token, sequence in zip(*columns, strict=True):
            yield f"{score:.4f}  {token:<16} {sequence}"


def glue(model: str, task: str, input: str, output: Path, *, folder: Path, print: Print) -> None:
    """Write the predictions for a GLUE test file in the submission format."""
    glue_files.check(task)
    print(str(glue_files.write(open_model(model, folder), task, input, output)))


def serving(config: Path | None, overrides: list[str] | None) -> Serving:
    """Return the settings of the server."""
    return build(resolve_section("serving", config, overrides))


def needs_saved_models(with_engine: str, serving: Serving) -> bool:
    """Return whether the server cannot serve exports for LiteRT alone."""
    return tensorflow_model_server.is_selected(with_engine) or serving.engine == "tensorflow"


def serve(models: str, serving: Serving, *, with_engine: str, print: Print) -> None:
    """Serve exports until a signal ends the server; print the addresses as a line of JSON once it is ready."""
    path = Path(models) if Path(models).exists() else Path("saved_models") / models

    def announce(announcement) -> None:
        console.table("Serving", ["model", "version", "state"], announcement.rows())
        console.note(f"page: {announcement.rest}/    gRPC: {announcement.grpc}")
        console.note(announcement.curl())
        print(json.dumps({"rest": announcement.rest, "grpc": announcement.grpc}))

    if tensorflow_model_server.is_selected(with_engine):
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
    """Check a server for conformance with TF Serving; print each check, and return whether all passed."""
    run = native.with_tensorflow("tfattn.serving.conformance.run")
    options = {"rest": rest, "grpc": grpc, "models": models, "engine": with_engine, "overrides": overrides or ()}
    results = []
    for result in run.conformance(**options):
        results.append(result)
        print(str(result))
    print(run.summary(results))
    return all(result.outcome != "failed" for result in results)


def open_model(
    model: str,
    folder: Path,
    *,
    token_file: Path | None = None,
    allow_operations: Collection[str] = (),
    engine: Engine = "tensorflow",
) -> Predictor:
    """Load an export, or connect to a model on a server."""
    if is_address(model):
        return RemoteModel(model, token_file=token_file)
    local = native.with_tensorflow("tfattn.serving.client.local")
    return local.load(model, folder, allow_operations=allow_operations, engine=engine)


def write_models(folder: Path) -> None:
    """Write the models that a server must serve for the conformance check."""
    native.with_tensorflow("tfattn.serving.conformance.fixtures").write_models(folder)
