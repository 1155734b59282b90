"""The choice of the engine of a language model: LiteRT or TensorFlow."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfattn import console
from tfattn.errors import ServingError
from tfattn.litert import Engine, decoder_file
from tfattn.serving.engine.litert_decoder import LiteRtDecoder
from tfattn.serving.generation.description import TOKENIZE, LanguageModel


def open_language_model(
    folder: Path,
    *,
    engine: Engine,
    saved_model: Callable[[], LanguageModel],
    num_threads: int,
    fewer_threads: bool = False,
) -> LanguageModel:
    """Load the language model of a version.

    Args:
        folder: the version's folder.
        engine: "auto" uses LiteRT if the version has a LiteRT file that can be used, else TensorFlow.
        saved_model: loads the SavedModel; called only if it is needed.
        num_threads, fewer_threads: see `LiteRtDecoder`.

    Raises:
        ServingError: the chosen engine cannot load the model.
    """
    has_saved_model = (folder / decoder_file.SAVED_MODEL).is_file()
    if engine == "tensorflow" or (engine == "auto" and decoder_file.find(folder) is None):
        return saved_model()
    try:
        options = {"num_threads": num_threads, "fewer_threads": fewer_threads}
        return LiteRtDecoder(folder, **options, tokenize=_tokenizing(saved_model, has_saved_model))
    except ServingError as error:
        if engine == "litert" or not has_saved_model:
            raise
        console.note(f"the SavedModel is used instead of LiteRT: {error}")
        return saved_model()


def _tokenizing(saved_model: Callable[[], LanguageModel], has_saved_model: bool) -> Callable[..., Any] | None:
    """Return a function that tokenizes with the SavedModel, which is loaded on its first call."""
    loaded: list[LanguageModel] = []

    def tokenize(inputs: dict[str, Any]) -> dict[str, Any]:
        if not loaded:
            loaded.append(saved_model())
        return loaded[0].run(TOKENIZE, inputs)

    return tokenize if has_saved_model else None
