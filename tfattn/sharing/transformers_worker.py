"""Compute ids and outputs with transformers, without tfattn and TensorFlow.

A script, not a module: `python transformers_worker.py REQUEST RESULT`. REQUEST is JSON: `folder`, `auto_class`,
`inputs`, the path of an npz file, `texts`, a list of one or two texts for each sequence, and `max_length`. RESULT is an
npz file of all outputs that are arrays, with `ids`, JSON, and `versions`.
"""

import json
import sys

import numpy as np
import torch
import transformers


def main(request_path, result_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    transformers.logging.set_verbosity_error()
    ids = []
    if request["texts"]:
        tokenizer = transformers.AutoTokenizer.from_pretrained(request["folder"])
        options = {"truncation": True, "max_length": request["max_length"]}
        ids = [tokenizer(*texts, **options)["input_ids"] for texts in request["texts"]]
    kind = getattr(transformers, request["auto_class"])
    model = kind.from_pretrained(request["folder"], dtype=torch.float32).eval()
    inputs = {name: torch.tensor(value) for name, value in np.load(request["inputs"]).items()}
    with torch.no_grad():
        outputs = model(**inputs)
    arrays = {name: value.numpy() for name, value in outputs.items() if isinstance(value, torch.Tensor)}
    versions = f"transformers {transformers.__version__}, torch {torch.__version__}"
    np.savez(result_path, **arrays, ids=json.dumps(ids), versions=versions, class_name=type(model).__name__)


if __name__ == "__main__":
    main(*sys.argv[1:])
