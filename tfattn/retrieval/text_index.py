"""An index of texts by their vectors, for exact search."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from tfattn import console, files
from tfattn.errors import ConfigError, DataError
from tfattn.retrieval.text_encoder import ExportedEncoder
from tfattn.rows import nearest_rows

VECTORS, TEXTS, OFFSETS = "vectors.npy", "texts.jsonl", "offsets.npy"
BLOCK = 1024  # texts that are sorted by length together
INDEX_AGAIN = "Make the index again with `tfattn index`."


class Document(NamedTuple):
    """A text of an index, with its identifier."""

    id: str
    text: str


class Hit(NamedTuple):
    """A text that was found.

    Attributes:
        id: the identifier of the text.
        score: the cosine similarity of text and query.
        text: the text.
    """

    id: str
    score: float
    text: str


class IndexManifest(files.Manifest):
    """The manifest of an index, in addition to its files.

    Attributes:
        encoder: the folder of the export that made the vectors.
        checksum: the checksum of the export, see ExportedEncoder.
        dimensions: the dimensions of the vectors.
        texts: the number of texts.
    """

    encoder: str
    checksum: str
    dimensions: int
    texts: int


class TextIndex:
    """An index of texts. Vectors are read from a memory-mapped file, so that an index may be larger than memory.

    Args:
        folder: a folder that `TextIndex.build` wrote.
        encoder: the encoder of queries, an export's folder or name; by default the export that made the index.
        exports: the folder of all exports.

    Raises:
        DataError: the folder is missing or damaged, or was made by another encoder.
        ServingError: the export cannot be loaded.

    Example:
        index = TextIndex.build(["A man plays a guitar.", "It rains."], "indexes/sentences", encoder="sentences")
        index.search("music", k=1)[0].text

    Source: exact search, as the flat index of Johnson et al. 2017, "Billion-scale similarity search with GPUs".
    """

    def __init__(
        self, folder: str | Path, *, encoder: str | ExportedEncoder | None = None, exports: str | Path = "saved_models"
    ):
        self.folder = Path(folder)
        self.facts = files.verify(self.folder, OFFSETS, shape=IndexManifest, remedy=INDEX_AGAIN)
        given = self.facts["encoder"] if encoder is None else encoder
        self.encoder = given if isinstance(given, ExportedEncoder) else ExportedEncoder(given, exports)
        if self.encoder.checksum != self.facts["checksum"]:
            raise DataError(
                "the index was made by another encoder, whose vectors cannot be compared",
                where=str(self.folder),
                expected=f"the export {self.facts['encoder']} with the checksum {self.facts['checksum'][:12]}",
                received=f"{self.encoder.path} with {self.encoder.checksum[:12]}",
                remedy=INDEX_AGAIN,
            )
        self._vectors = np.load(self.folder / VECTORS, mmap_mode="r")
        self._offsets = np.load(self.folder / OFFSETS, mmap_mode="r")

    @classmethod
    def build(
        cls,
        documents: Iterable[Document | str],
        folder: str | Path,
        *,
        encoder: str | ExportedEncoder,
        dimensions: int | None = None,
        exports: str | Path = "saved_models",
    ) -> "TextIndex":
        """Encode texts and write the index, which appears atomically.

        Args:
            documents: texts with identifiers; the identifier of a plain text is its number, from 0.
            folder: the folder of the index; an existing index is replaced.
            encoder: an export's folder or name.
            dimensions: the number of leading dimensions to store; None for all.
            exports: the folder of all exports.

        Raises:
            ConfigError: the export has fewer dimensions, or the folder has something else.
            DataError: there are no texts.
        """
        folder = Path(folder)
        texts = [
            Document(str(number), document) if isinstance(document, str) else document
            for number, document in enumerate(documents)
        ]
        texts = [document for document in texts if document.text.strip()]
        if not texts:
            raise DataError(
                "there is nothing to index", expected="at least one text that is not empty", received="none"
            )
        if folder.exists() and not (folder / VECTORS).is_file():
            raise ConfigError(
                "the folder is not an index", where=str(folder), expected="a new folder, or an index to replace"
            )
        encoder = encoder if isinstance(encoder, ExportedEncoder) else ExportedEncoder(encoder, exports)
        width = dimensions or encoder.width
        facts = {"encoder": str(encoder.path), "checksum": encoder.checksum, "dimensions": width, "texts": len(texts)}
        with files.atomic_folder(folder, **facts) as new:
            shape = (len(texts), width)
            vectors = np.lib.format.open_memmap(new / VECTORS, mode="w+", dtype=np.float32, shape=shape)
            blocks = range(0, len(texts), BLOCK)
            for first in console.tracked(blocks, "index", len(blocks)):
                block = [document.text for document in texts[first : first + BLOCK]]
                order = sorted(range(len(block)), key=lambda index: len(block[index]))  # similar lengths share a batch
                found = encoder.encode(
                    [block[index] for index in order], prompt=encoder.document_prompt, dimensions=width
                )
                vectors[first + np.array(order)] = found
            vectors.flush()
            _write_texts(new, texts)
        return cls(folder, encoder=encoder)

    def __len__(self) -> int:
        return len(self._vectors)

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Find the K texts with the highest cosine similarity to a query, best first; all if there are fewer."""
        return self.search_all([query], k)[0]

    def search_all(self, queries: Sequence[str], k: int = 10) -> list[list[Hit]]:
        """Find the K most similar texts of each query, best first."""
        vectors = self.encoder.encode(queries, prompt=self.encoder.query_prompt, dimensions=self.facts["dimensions"])
        found, scores = nearest_rows(vectors, self._vectors, k)
        with open(self.folder / TEXTS, "rb") as file:
            return [
                [self._hit(file, number, score) for number, score in zip(numbers, of_query, strict=True)]
                for numbers, of_query in zip(found.tolist(), scores.tolist(), strict=True)
            ]

    def _hit(self, file: BinaryIO, number: int, score: float) -> Hit:
        file.seek(self._offsets[number])
        row = json.loads(file.readline())
        return Hit(row["id"], score, row["text"])


def _write_texts(folder: Path, texts: Sequence[Document]) -> None:
    offsets = np.zeros(len(texts), np.int64)
    with open(folder / TEXTS, "wb") as file:
        for number, document in enumerate(texts):
            offsets[number] = file.tell()
            file.write(json.dumps(document._asdict(), ensure_ascii=False).encode() + b"\n")
    np.save(folder / OFFSETS, offsets)
