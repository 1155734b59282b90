"""An export of a language model with random weights: it knows bytes, a few words and the tokens of chats."""

from pathlib import Path

import keras

from tfattn import files
from tfattn.export import saved_model, warmup
from tfattn.export.generation import Generator, save_description
from tfattn.export.litert_decoder import DecoderFiles
from tfattn.litert.decoder_file import FOLDER
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.tasks.generation import Generation
from tfattn.tasks.language_modeling import LanguageModeling
from tfattn.trained.ensemble import TrainedEnsemble

NAME, CONTEXT = "author", 1536  # the description of two tools has about 1,000 tokens
TEXTS = ["To be, or not to be, that is the question", "whether it is nobler in the mind: ß ünï 日本語 🎉"]
CHAT = ("<|im_start|>", "<|im_end|>")


SIGNATURES = ("serving_default", "score", "tokenize", "prefill", "prompt_logprobs", "decode_step", "attention")


class Author(Generator):
    """Has fewer signatures than others, so that it is soon written, loaded and warm."""

    def signatures(self):
        return {name: function for name, function in super().signatures().items() if name in SIGNATURES}

    def warm_up(self, rows):
        return (request for request in super().warm_up(rows) if request[0] in SIGNATURES)


def build() -> tuple[ByteBpe, LanguageModeling]:
    """Build the tokenizer and the model, always the same."""
    keras.utils.set_random_seed(0)
    language = ByteBpe(vocabulary_size=300, max_length=CONTEXT, special_tokens=CHAT)
    language.fit([{"text": text} for text in TEXTS])
    sizes = {"hidden_dim": 32, "num_layers": 2, "num_heads": 4, "num_key_value_heads": 2, "intermediate_dim": 64}
    model = Gpt(**language.sizes, **sizes, max_sequence_length=CONTEXT, positions="rotary", initializer_range=0.5)
    return language, LanguageModeling(model=model, preprocessor=language, generation=Generation())


def write(models: Path) -> None:
    """Write it to a folder of models."""
    folder = models / NAME / "1"
    exported = Author(TrainedEnsemble([build()]))
    saved_model._save(exported, folder)
    warmup.write(folder, exported, exported.warm_up([{"text": text} for text in TEXTS]), name=NAME)
    files.write_manifest(folder)


def write_litert(models: Path) -> None:
    """Write it for LiteRT alone."""
    folder = models / NAME / "1"
    (folder / "assets").mkdir(parents=True)
    language, task = build()
    save_description(folder / "assets", language, task.model, task.generation)
    DecoderFiles(task.model, language, {}).write(folder / FOLDER, "float32")
    files.write_manifest(folder)
