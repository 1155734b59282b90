"""Models written for transformers and llama.cpp: the largest difference of logits, and equal greedy texts.

Each architecture of benchmarks/architectures.py, benchmarks/decoders.py and OTHERS gets random weights here, is written
as a folder of Hugging Face, and computed by transformers. A language model with published weights is written as GGUF in
each precision, and continues texts in llama.cpp. `python -m benchmarks written` measures all of it; it needs torch,
transformers, gguf and xllamacpp.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.architectures import ARCHITECTURES, inputs
from benchmarks.decoders import DECODERS, token_ids
from benchmarks.results import Table

_VIT = {
    "image_size": 12,
    "patch_size": 4,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "layer_norm_eps": 1e-6,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "initializer_range": 0.02,
}
_SPECIAL = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
# The configurations of translators and of models of images, by the class that loads them.
OTHERS: dict[str, tuple[dict[str, Any], ...]] = {
    "AutoModel": (
        {"model_type": "vit", **_VIT, "intermediate_size": 24},
        {"model_type": "deit", **_VIT, "intermediate_size": 24},
        {"model_type": "dinov2", **_VIT, "mlp_ratio": 2, "layerscale_value": 0.5},
        {"model_type": "dinov2_with_registers", **_VIT, "mlp_ratio": 2, "num_register_tokens": 3},
    ),
    "AutoModelForSeq2SeqLM": (
        {
            "model_type": "marian",
            **_SPECIAL,
            "vocab_size": 40,
            "d_model": 16,
            **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
            **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
            **{f"{side}_ffn_dim": 24 for side in ("encoder", "decoder")},
            "activation_function": "swish",
            "max_position_embeddings": 32,
            "scale_embedding": True,
            "dropout": 0.1,
            "attention_dropout": 0.0,
            "init_std": 0.02,
        },
        {
            "model_type": "t5",
            **_SPECIAL,
            "vocab_size": 40,
            "d_model": 16,
            "d_kv": 8,
            "d_ff": 24,
            "num_layers": 2,
            "num_heads": 2,
            "relative_attention_num_buckets": 8,
            "relative_attention_max_distance": 12,
            "feed_forward_proj": "gated-gelu",
            "dropout_rate": 0.1,
            "layer_norm_epsilon": 1e-6,
            "n_positions": 32,
        },
    ),
}
LANGUAGE_MODEL = "smollm2"
_NAMES = {
    "input_ids": "token_ids",
    "attention_mask": "padding_mask",
    "token_type_ids": "segment_ids",
    "decoder_input_ids": "target_ids",
}


@dataclass(frozen=True)
class Case:
    """A model that is written.

    Attributes:
        name: the name of the architecture.
        config: the content of a published config.json.
        auto_class: the class of transformers.
        inputs: its inputs.
    """

    name: str
    config: Mapping[str, Any]
    auto_class: str
    inputs: dict[str, np.ndarray]


def main() -> Iterator[Table]:
    """Write all architectures for transformers, and a language model for llama.cpp."""
    yield transformers()
    yield llama_cpp()


def transformers() -> Table:
    """Write all architectures, and compare transformers with tfattn."""
    rows = []
    for case in cases():
        with tempfile.TemporaryDirectory() as path:
            rows.append([case.name, *_written(Path(path), case)])
    columns = ["architecture", "class", "largest difference"]
    notes = ("Differences of logits; of models of images, of the vectors of all patches.",)
    return Table(title="Written for transformers, random weights, float32", columns=columns, rows=rows, notes=notes)


def cases() -> Iterator[Case]:
    """Yield all models that are written."""
    for name, encoder in ARCHITECTURES.items():
        if encoder.kind == "masked_lm":
            yield Case(name, encoder.config, "AutoModelForMaskedLM", inputs(encoder))
    for name, decoder in DECODERS.items():
        yield Case(name, decoder.config, "AutoModelForCausalLM", {"input_ids": token_ids()})
    draw = np.random.default_rng(0)
    for auto_class, configs in OTHERS.items():
        for config in configs:
            ids = draw.integers(4, 40, (2, 9))
            given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "decoder_input_ids": ids[:, :5]}
            if auto_class == "AutoModel":
                given = {"pixel_values": draw.normal(size=(2, 3, 12, 12)).astype("float32")}
            yield Case(config["model_type"], config, auto_class, given)


def llama_cpp() -> Table:
    """Write LANGUAGE_MODEL as GGUF in each precision, and count the greedy texts that llama.cpp continues alike."""
    from tfattn.cli import loading
    from tfattn.sharing.commands import share
    from tfattn.sharing.gguf_file import PRECISIONS

    rows = []
    with tempfile.TemporaryDirectory() as path:
        exports = Path(path) / "saved_models"
        export = loading.exported(LANGUAGE_MODEL, exports)
        for precision in PRECISIONS:
            written = share(export, "gguf", Path(path) / precision, folder=exports, precision=precision)
            (file,) = written.glob("*.gguf")
            found = re.search(r"(\d+ of \d+) greedy texts", (written / "README.md").read_text())
            rows.append([precision, f"{file.stat().st_size / 1e6:.0f} MB", found.group(1) if found else "not compared"])
    title = f"{LANGUAGE_MODEL} written for llama.cpp, greedy texts of 16 tokens"
    return Table(title=title, columns=["precision", "size", "equal texts"], rows=rows)


def _written(folder: Path, case: Case) -> tuple[str, str]:
    """Write a model; return the class that transformers loads, and the largest difference of its outputs."""
    from safetensors.numpy import save_file

    from tfattn import pretrained, registry
    from tfattn.sharing import worker
    from tfattn.sharing.architectures import architectures
    from tfattn.sharing.counterparts import Counterpart, tensors
    from tfattn.sharing.trained_export import defaults

    (folder / "config.json").write_text(json.dumps(case.config))
    reader = pretrained.open(folder)
    sizes = reader.stated_sizes() if reader.model == "gpt" else reader.sizes()
    arguments = {**defaults("models", reader.model), **sizes}
    written = next(one for one in architectures() if one.model_type == case.config["model_type"])
    special = {key: value for key, value in case.config.items() if key.endswith("_token_id")}
    (folder / "config.json").write_text(json.dumps({**written.config(arguments), **special}))
    reader = pretrained.open(folder)
    values, outputs = _model(registry.find("models", reader.model)(**sizes), arguments, case)
    found = tensors(Counterpart(written, reader, {}), values, arguments)
    save_file(found, folder / "model.safetensors", {"format": "pt"})
    np.savez(folder / "inputs.npz", **case.inputs)
    request = {
        "folder": str(folder),
        "auto_class": case.auto_class,
        "inputs": str(folder / "inputs.npz"),
        "texts": [],
        "max_length": None,
    }
    result, failure = worker.run("transformers_worker.py", request, folder, result="result.npz")
    if result is None:
        raise RuntimeError(failure)
    with np.load(result) as answer:
        name = "last_hidden_state" if case.auto_class == "AutoModel" else "logits"
        differences = np.abs(answer[name] - outputs)
        if case.auto_class == "AutoModelForMaskedLM":
            differences = differences[case.inputs["attention_mask"] > 0]
        return str(answer["class_name"]), f"{differences.max():.1e}"


def _model(model: Any, arguments: Mapping[str, Any], case: Case) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Give a model random weights; return them by path, and its outputs for the inputs of transformers."""
    from tfattn.tasks.masked_lm import MaskedLm

    is_masked_lm = case.auto_class == "AutoModelForMaskedLM"
    task = MaskedLm(model=model) if is_masked_lm else model
    draw, values = np.random.default_rng(0), {}
    for weight in task.weights:
        if "seed" not in weight.path:
            weight.assign(draw.normal(scale=0.3, size=weight.shape) + weight.path.endswith("gamma"))
            values[weight.path.removeprefix(f"{model.name}/")] = np.asarray(weight)
    features = {_NAMES[name]: value.astype("int32") for name, value in case.inputs.items() if name in _NAMES}
    if case.auto_class == "AutoModel":
        mean, deviation = (np.array(arguments[name], "float32") for name in ("pixel_mean", "pixel_deviation"))
        images = case.inputs["pixel_values"].transpose(0, 2, 3, 1) * deviation + mean
        return values, np.asarray(model({"images": images})["sequence_output"])
    if "target_ids" in features:  # their last id is never read
        features["target_ids"] = np.pad(features["target_ids"], ((0, 0), (0, 1)))
    if not is_masked_lm:
        return values, np.asarray(model(features)["logits"])
    rows, length = features["token_ids"].shape
    features["masked_lm_positions"] = np.tile(np.arange(length, dtype="int32"), (rows, 1))
    without_pooler = {path: value for path, value in values.items() if not path.startswith("pooler/")}
    return without_pooler, np.asarray(task(features)["masked_lm_logits"])
