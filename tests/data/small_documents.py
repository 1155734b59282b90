"""Documents that are prepared for pre-training in many small parts, by any engine and in any process."""

import functools
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.data.batching import Batching
from tfattn.data.engines.engine import Engine
from tfattn.data.examples.packed_texts import PackedTexts
from tfattn.data.examples.sentence_pairs import SentencePairs
from tfattn.data.examples.targets import Target
from tfattn.data.preparation.prepare import prepare
from tfattn.data.section import Data
from tfattn.data.sources.document_files import DocumentFiles
from tfattn.data.split_config import Split
from tfattn.formats import parts
from tfattn.preprocessing.wordpiece import WordPiece

WORDS = [f"w{number}" for number in range(300)]
MAKE = {"pairs": functools.partial(SentencePairs, dupe_factor=2), "packed": functools.partial(PackedTexts)}


def write(folder: Path, *, documents: int = 40) -> None:
    """Writes a vocabulary, and documents of 8 sentences."""
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    random = np.random.default_rng(3)
    texts = [
        "\n".join(" ".join(random.choice(WORDS, random.integers(2, 9))) for _ in range(8)) for _ in range(documents)
    ]
    (folder / "text.txt").write_text("\n\n".join(texts))


def section(folder: Path | str, kind: str, engine: Engine) -> Data:
    """Makes the section, in any process: parts must be as small there."""
    parts.PART_BYTES = 2048
    return Data(
        source=DocumentFiles(path=f"{folder}/text.txt"),
        preprocessing=WordPiece(vocabulary=f"{folder}/vocab.txt", max_length=24),
        batching=Batching(batch_size=8),
        split=Split(validation=0.2),
        targets=Target(),
        examples=MAKE[kind](),
        engine=engine,
    )


def prepared(folder: Path, name: str, kind: str, engine: Engine) -> dict[str, Any]:
    """Prepares the documents, and returns the manifest of what has come of them."""
    make = functools.partial(section, folder, kind, engine)
    prepare(make(), folder / name, seed=3, make=make)
    return files.verify(folder / name)
