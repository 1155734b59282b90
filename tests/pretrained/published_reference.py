"""Runs transformers on the tiny models of published_weights.py: python published_reference.py FOLDER [NAME ...].

It writes FOLDER/NAME.json with the configuration, the shapes of all tensors and the outputs. Run it on
tests/pretrained/published to renew what the tests compare with. It is a program of its own, because torch and
TensorFlow should not be loaded into one process.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from published_weights import MODELS, SIDES, images, source, target, weight
from safetensors.numpy import load_file, save_file

MEAN, DEVIATION = 0.5, 0.5  # of pixels, the defaults of the model


def main(folder: Path, names: list[str]) -> None:
    for name in names or MODELS:
        with tempfile.TemporaryDirectory() as temporary:
            found = describe(name, Path(temporary))
        (folder / f"{name}.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


def describe(name: str, folder: Path) -> dict:
    """Write a model with the weights of the formulas, load it, and return what it answers."""
    kind, config, rules, extra = MODELS[name]
    architecture = getattr(transformers, kind)
    (folder / "config.json").write_text(json.dumps(config))
    architecture(transformers.AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {tensor: value.shape for tensor, value in load_file(folder / "model.safetensors").items()} | extra
    save_file({tensor: weight(tensor, shape) for tensor, shape in shapes.items()}, folder / "model.safetensors")
    (folder / "generation_config.json").write_text(json.dumps(rules or {}))
    model = architecture.from_pretrained(folder).eval()
    with torch.no_grad():
        outputs = answers(model, config) if rules else seen(model, config)
    tensors = {tensor: list(shape) for tensor, shape in sorted(shapes.items())}
    return {"config": config, "generation_config": rules, "tensors": tensors, "outputs": outputs}


def answers(model: torch.nn.Module, config: dict) -> dict:
    """Return the logits of a target, and the texts of greedy search and of beam search."""
    ids, mask = (torch.tensor(value.astype("int64")) for value in source(config))
    inputs = {"input_ids": ids, "attention_mask": mask}
    logits = model(**inputs, decoder_input_ids=torch.tensor(target(config).astype("int64"))).logits
    beams = model.generation_config.num_beams
    found = model.generate(**inputs, num_return_sequences=beams, return_dict_in_generate=True, output_scores=True)
    greedy = model.generate(**inputs, num_beams=1, length_penalty=1.0, early_stopping=False)
    return {
        "logits": rounded(logits),
        "greedy": [texts(row, config) for row in greedy.tolist()],
        "beams": [
            [texts(row, config) for row in rows] for rows in found.sequences.reshape(len(ids), beams, -1).tolist()
        ],
        "scores": rounded(found.sequences_scores.reshape(len(ids), beams)),
    }


def texts(row: list[int], config: dict) -> list[int]:
    """Return the tokens between start and end."""
    end = config["eos_token_id"]
    row = row[1:]
    return row[: row.index(end)] if end in row else row


def seen(model: torch.nn.Module, config: dict) -> dict:
    """Return the outputs for images, and the vector of larger and smaller images."""
    found = {}
    options = {"interpolate_pos_encoding": True} if config["model_type"] == "deit" else {}
    for name, side in SIDES.items():
        pixels = (images(side or config["image_size"]) - MEAN) / DEVIATION
        inputs = torch.tensor(pixels.transpose(0, 3, 1, 2), dtype=torch.float32)
        states = model.base_model(inputs, **options).last_hidden_state
        found[name] = rounded(states if side is None else states[:, 0])
    inputs = torch.tensor(((images(config["image_size"]) - MEAN) / DEVIATION).transpose(0, 3, 1, 2))
    return {**found, "logits": rounded(model(inputs).logits)}


def rounded(values: torch.Tensor) -> list:
    return np.round(values.numpy().astype("float64"), 6).tolist()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
