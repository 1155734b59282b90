"""Masked texts, small published encoders with random weights, and the tokens that transformers predicts.

`python -m tests.pretrained.fill_mask_cases` computes the stored tokens anew; TORCH_PYTHON may name the Python that has
torch and transformers.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import peers
from tests.pretrained import tokenizer_folders
from tests.pretrained.architecture_fixtures import write_folder

STORED = Path(__file__).with_name("fill_mask.json")
PROGRAM = """
import json, sys, torch, transformers
options = {"model": sys.argv[1], "tokenizer": sys.argv[1], "top_k": 10}
print(json.dumps(transformers.pipeline("fill-mask", **options)(sys.argv[2])))
"""


class Case(NamedTuple):
    """A masked text, and the files of an encoder: a name of ARCHITECTURES, and a function that writes a tokenizer."""

    architecture: str
    tokenizer: Callable[[Path], None]
    size: int
    text: str


CASES = {
    # The layout of bert-base-chinese.
    "chinese": Case("bert", tokenizer_folders.chinese, 24, "等到潮水 [MASK] 了，就知道誰沒穿褲子。"),
    "roberta": Case("roberta", tokenizer_folders.roberta, 280, "The cat, the [MASK] leaks."),
}


def write(case: Case, folder: Path) -> None:
    """Write the folder of a case."""
    write_folder(case.architecture, folder, case.size)
    case.tokenizer(folder)


def predicted(case: Case, folder: Path) -> list[dict]:
    """Return the predictions of transformers for the mask, best first."""
    mask = "<mask>" if case.architecture == "roberta" else "[MASK]"
    found = json.loads(peers.last_line(PROGRAM, folder, case.text.replace("[MASK]", mask)))
    return [{"token": one["token"], "score": one["score"], "token_str": one["token_str"]} for one in found]


def main() -> None:
    """Compute and store the predictions."""
    stored = {}
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as path:
            write(case, Path(path))
            stored[name] = predicted(case, Path(path))
    STORED.write_text(json.dumps(stored, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
