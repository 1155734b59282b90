"""The tiny published models as folders, and their largest differences to the stored outputs of transformers.

`python -m tests.pretrained.published_models [NAME ...]` prints the differences.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
from safetensors.numpy import save_file

from tests.pretrained import published_weights
from tests.pretrained.published_weights import MODELS, SIDES
from tfattn import pretrained, registry
from tfattn.pretrained.contract import ImportReport, Pretrained
from tfattn.tasks.decoding import Decoding

STORED = Path(__file__).with_name("published")
TEXTS = [name for name, (*_, rules, _) in MODELS.items() if rules]
VISION = [name for name in MODELS if name not in TEXTS]


def stored(name: str) -> dict[str, Any]:
    """Read the stored configuration and outputs of a model."""
    return json.loads((STORED / f"{name}.json").read_text())


def write(name: str, folder: Path) -> Pretrained:
    """Write the folder of a model, without transformers, and open it."""
    found = stored(name)
    (folder / "config.json").write_text(json.dumps(found["config"]))
    if found["generation_config"]:
        (folder / "generation_config.json").write_text(json.dumps(found["generation_config"]))
    tensors = {name: published_weights.weight(name, tuple(shape)) for name, shape in found["tensors"].items()}
    save_file(tensors, folder / "model.safetensors")
    return pretrained.open(folder)


def write_translator(name: str, folder: Path, *, max_length: int | None = None) -> None:
    """Write a Marian or a T5 with random weights for the tokens of the stored tokenizers.

    Args:
        name: marian or t5.
        folder: the new folder.
        max_length: the maximum length in tokens; by default that of the stored configuration.
    """
    found = json.loads((STORED / "pieces.json").read_text())[name]
    config, rules = stored(name)["config"], stored(name)["generation_config"]
    size = len(found["vocabulary"]) if name == "marian" else 160
    if name == "marian":
        special = {"pad_token_id": size - 1, "decoder_start_token_id": size - 1}
        config, rules = {**config, **special}, {**rules, **special, "bad_words_ids": [[size - 1]]}
    config |= {"vocab_size": size} | ({"max_position_embeddings": max_length} if max_length else {})
    shapes = {tensor: [size if n == 24 else n for n in shape] for tensor, shape in stored(name)["tensors"].items()}
    folder.mkdir()
    save_file({n: published_weights.weight(n, tuple(s)) for n, s in shapes.items()}, folder / "model.safetensors")
    contents = {"config": config, "generation_config": rules}
    contents |= {"vocab": found["vocabulary"]} if name == "marian" else {}
    for part, content in contents.items():
        (folder / f"{part}.json").write_text(json.dumps(content))
    for file, content in found["files"].items():
        (folder / file).write_bytes(published_weights.decoded(content))


def load(weights: Pretrained, **options: Any) -> tuple[keras.Model, ImportReport]:
    """Build the model of published weights, and load them."""
    model = registry.find("models", weights.model)(**{**weights.sizes(), **options})
    return model, weights.load_into(model)


def logits(model: keras.Model, config: dict) -> np.ndarray:
    """Compute the logits of the stored target."""
    ids, mask = published_weights.source(config)
    # The last token has no next token.
    targets = np.pad(published_weights.target(config), [(0, 0), (0, 1)])
    return array(model({"token_ids": ids, "padding_mask": mask, "target_ids": targets})["logits"])


def search(weights: Pretrained, model: keras.Model, config: dict, **options: Any) -> tuple[list, np.ndarray]:
    """Search with the published rules: the tokens of the n best texts of each source, and their scores."""
    ids, mask = published_weights.source(config)
    memory = model.encode({"token_ids": ids, "padding_mask": mask})
    decoding = Decoding(**{**weights.decoding(), **options})
    decoded = decoding.generate(model, memory, **weights.special_ids, n_best=True)
    lengths, tokens = array(decoded.lengths), array(decoded.token_ids)
    texts = [
        [row[:length].tolist() for row, length in zip(*rows, strict=True)] for rows in zip(tokens, lengths, strict=True)
    ]
    return texts, array(decoded.scores)


def seen(weights: Pretrained, size: str, config: dict) -> np.ndarray:
    """Compute the outputs for images of a size: of all tokens for the published size, else of the class token."""
    side = SIDES[size] or config["image_size"]
    model, report = load(weights, image_size=side)
    assert not report.missing and all("classifier" in name or "mask_token" in name for name in report.unused)
    outputs = model({"images": published_weights.images(side)})
    return array(outputs["sequence_output" if size == "images" else "pooled_output"])


def difference(name: str, folder: Path) -> float:
    """Return the largest absolute difference of logits, or of the outputs for images, to transformers."""
    weights, expected, config = write(name, folder), stored(name)["outputs"], stored(name)["config"]
    if name in TEXTS:
        found = {"logits": logits(load(weights)[0], config)}
    else:
        found = {size: seen(weights, size, config) for size in SIDES}
    return max(float(np.abs(values - expected[output]).max()) for output, values in found.items())


def array(tensor: Any) -> np.ndarray:
    return keras.ops.convert_to_numpy(tensor)


if __name__ == "__main__":
    for name in sys.argv[1:] or MODELS:
        with tempfile.TemporaryDirectory() as temporary:
            print(f"{name}: {difference(name, Path(temporary)):.1e}")
