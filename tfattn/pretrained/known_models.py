"""Published models that were tried, in packages and on hubs: `tfattn list pretrained`.

Other models of the same architectures can be read, too.
"""

from dataclasses import dataclass
from typing import Literal

Tried = Literal["weights", "layout"]
EXPLANATIONS: dict[Tried, str] = {
    "weights": "the tests read these weights",
    "layout": "the tests compare a model with this layout and random weights to the original; these weights were not "
    "downloaded",
}


@dataclass(frozen=True)
class KnownModel:
    """A published model.

    Args:
        architecture: the architecture, in the words of its authors.
        parameters: the number of parameters, in millions.
        megabytes: the size of the weights to download or in the package.
        license: the license of the weights, as the author states it.
        tried: what the tests read; see EXPLANATIONS.
    """

    architecture: str
    parameters: float
    megabytes: int
    license: str
    tried: Tried = "layout"


KNOWN_MODELS: dict[str, KnownModel] = {
    "minilm": KnownModel("BERT", 22.7, 91, "Apache-2.0", "weights"),
    "distilbert_grammar": KnownModel("DistilBERT", 65.2, 66, "Apache-2.0", "weights"),
    "multilingual_e5_small": KnownModel("BERT", 118, 72, "MIT", "weights"),
    "bert_tiny": KnownModel("BERT", 4.4, 18, "Apache-2.0", "weights"),
    "smollm2": KnownModel("Llama", 135, 98, "Apache-2.0", "weights"),
    "hf://google-bert/bert-base-uncased": KnownModel("BERT", 109, 440, "Apache-2.0"),
    "hf://google-bert/bert-base-cased": KnownModel("BERT", 108, 436, "Apache-2.0"),
    "hf://google-bert/bert-large-uncased": KnownModel("BERT", 335, 1345, "Apache-2.0"),
    "hf://google-bert/bert-base-chinese": KnownModel("BERT", 102, 412, "Apache-2.0"),
    "hf://google-bert/bert-base-multilingual-cased": KnownModel("BERT", 178, 714, "Apache-2.0"),
    "hf://sentence-transformers/all-MiniLM-L6-v2": KnownModel("BERT", 22.7, 91, "Apache-2.0"),
    "hf://FacebookAI/roberta-base": KnownModel("RoBERTa", 125, 499, "MIT"),
    "hf://FacebookAI/xlm-roberta-base": KnownModel("XLM-R", 278, 1116, "MIT"),
    "hf://intfloat/multilingual-e5-small": KnownModel("BERT", 118, 471, "MIT"),
    "hf://distilbert/distilbert-base-uncased": KnownModel("DistilBERT", 67, 268, "Apache-2.0"),
    "hf://albert/albert-base-v2": KnownModel("ALBERT", 11.8, 47, "Apache-2.0"),
    "hf://sentence-transformers/all-mpnet-base-v2": KnownModel("MPNet", 109, 438, "Apache-2.0"),
    "hf://google/electra-small-generator@refs/pr/5": KnownModel("ELECTRA", 13.5, 54, "Apache-2.0"),
    "hf://answerdotai/ModernBERT-base": KnownModel("ModernBERT", 150, 599, "Apache-2.0"),
    "hf://openai-community/gpt2": KnownModel("GPT-2", 124, 548, "MIT"),
    "hf://HuggingFaceTB/SmolLM2-135M-Instruct": KnownModel("Llama", 135, 269, "Apache-2.0"),
    "hf://Qwen/Qwen2.5-0.5B": KnownModel("Qwen2", 494, 988, "Apache-2.0"),
    "hf://google/gemma-3-270m": KnownModel("Gemma 3", 268, 536, "Gemma, gated"),
    "hf://Helsinki-NLP/opus-mt-en-de@refs/pr/4": KnownModel("Marian", 74.4, 298, "CC-BY-4.0"),
    "hf://google-t5/t5-small": KnownModel("T5", 60.5, 242, "Apache-2.0"),
    "hf://google/flan-t5-small": KnownModel("T5 1.1", 77, 308, "Apache-2.0"),
    "hf://google/vit-base-patch16-224": KnownModel("ViT", 86.6, 346, "Apache-2.0"),
    "hf://facebook/deit-base-distilled-patch16-384": KnownModel("DeiT", 87.6, 351, "Apache-2.0"),
    "hf://facebook/dinov2-small": KnownModel("DINOv2", 22.1, 88, "Apache-2.0"),
    "keras://bert_tiny_en_uncased": KnownModel("BERT", 4.4, 18, "Apache-2.0"),
    "keras://bert_base_en_uncased": KnownModel("BERT", 109, 438, "Apache-2.0"),
    "keras://bert_base_zh": KnownModel("BERT", 102, 409, "Apache-2.0"),
    "keras://gpt2_base_en": KnownModel("GPT-2", 124, 498, "MIT"),
    "keras://vit_base_patch16_224_imagenet": KnownModel("ViT", 85.8, 343, "Apache-2.0"),
}


def lines() -> list[str]:
    """Return a line for each model, with a header."""
    header = ("model", "architecture", "parameters", "weights", "license", "tried with")
    rows = [
        (name, known.architecture, f"{known.parameters:g} M", f"{known.megabytes:,} MB", known.license, known.tried)
        for name, known in KNOWN_MODELS.items()
    ]
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]
    return [text.rstrip() for text in texts]


def describe(name: str) -> list[str]:
    """Return what is known about a model, a line for each fact."""
    known = KNOWN_MODELS[name]
    return [
        f"architecture  {known.architecture}, {known.parameters:g} million parameters",
        f"weights       {known.megabytes:,} MB",
        f"license       {known.license}",
        f"tried with    {known.tried}: {EXPLANATIONS[known.tried]}",
    ]
