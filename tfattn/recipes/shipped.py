"""Recipes: the shipped pipelines, under their own names and under names of what they do."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tfattn.errors import ConfigError, listed, nearest
from tfattn.files import SCHEME, find_shipped, shipped_folder

# Names of what a recipe does -> pipeline.
PURPOSES = {
    "answer_questions": "squad_new_wiki",
    "chat": "smollm2_factory_reports",
    "choose": "swag",
    "classify_images": "cifar10_compact_convolutional",
    "classify_pairs": "sick",
    "classify_table": "telco_churn",
    "classify_text": "factory_reports",
    "find_entities": "conll2003_ner",
    "generate_text": "gpt_shakespeare",
    "predict_number": "adult_hours",
    "pretrain": "bert_pretrain_modern",
    "rerank": "rerank_squad",
    "search": "retrieval_squad",
    "similarity": "stsb",
    "translate": "translate_multi30k_transformer",
    "word_vectors": "word2vec_skip_gram",
}


@dataclass(frozen=True)
class Recipe:
    """A shipped pipeline.

    Attributes:
        name: name for `tfattn init --recipe`.
        path: the shipped file.
    """

    name: str
    path: Path

    @property
    def purpose(self) -> str:
        """The first sentence of the file."""
        sentence = re.split(
            r"(?<=[.?])(?<!et al.) ", _header(self.path.read_text(encoding="utf-8"))[0].removeprefix("# ")
        )[0]
        return sentence if self.name == self.path.stem else f"{sentence} ({self.path.stem})"

    def text(self) -> str:
        """Return the pipeline with its data section written out, and its other parts at package:// addresses."""
        text = self.path.read_text(encoding="utf-8")
        # Commands name the file in a clone; `tfattn init` prints the commands for the written file.
        header = [line for line in _header(text) if not line.startswith("#   tfattn run")]
        body = text.split("\n", len(_header(text)))[-1]
        body = re.sub(r"^data: \{from: (configs/\S+)\}$", _written_out, body, flags=re.MULTILINE)
        return "\n".join(header) + "\n" + re.sub(r"(?<=from: )(?=configs/)", SCHEME, body)


def recipes() -> list[Recipe]:
    """Return all recipes: first those named by purpose, then every shipped pipeline."""
    named = [Recipe(name, _path(pipeline)) for name, pipeline in PURPOSES.items()]
    return named + [Recipe(path.stem, path) for path in sorted(shipped_folder("pipelines").glob("*.yaml"))]


def find_recipe(name: str) -> Recipe:
    """Find a recipe by its name.

    Raises:
        ConfigError: there is no such recipe.
    """
    found = {recipe.name: recipe for recipe in recipes()}
    if name not in found:
        raise ConfigError(
            "unknown recipe",
            expected=f"one of {listed(PURPOSES)}, or a name of `tfattn list recipes`",
            received=name,
            remedy=nearest(name, found),
        )
    return found[name]


def _path(pipeline: str) -> Path:
    return shipped_folder("pipelines") / f"{pipeline}.yaml"


def _header(text: str) -> list[str]:
    """Return the comment lines at the start of a file."""
    lines = text.splitlines()
    return lines[: next(index for index, line in enumerate(lines) if not line.startswith("#"))]


def _written_out(section: re.Match[str]) -> str:
    """Return a data section with the keys of its part."""
    part = find_shipped(SCHEME + section[1]).read_text(encoding="utf-8")
    return "data:\n" + textwrap.indent(part.rstrip(), "  ")
