"""Sentence vectors per second, from strings to arrays, compared with transformers and torch."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import peers, sst2
from benchmarks.results import Table
from benchmarks.timing import comparison, medians
from tfattn import pretrained
from tfattn.vectors.text_encoder import TextEncoder

ROWS, ROUNDS = 3000, 3


def main() -> list[Table]:
    """Mean-pool the last layer of MiniLM in float32."""
    lines = (sst2.folder() / "sentences_train.tsv").read_text(encoding="utf-8").splitlines()
    rows = [{"text": line.rpartition("\t")[0]} for line in lines[:ROWS]]
    encoder = TextEncoder.open("minilm", pooling="mean", normalize=True)
    candidates = {"tfattn": lambda: list(encoder.encode(rows))}
    notes = ("Mean of the topmost layer's tokens, length 1, float32; both take sentences of like length together.",)
    with tempfile.TemporaryDirectory() as folder:
        if peers.has_transformers():
            peer = Peer(rows, Path(folder) / "vectors.npy")
            candidates["transformers + torch"] = peer
        seconds = medians(candidates, rounds=ROUNDS)
        if peers.has_transformers():
            ours = np.stack([vectors.values for vectors in encoder.encode(rows)])
            notes += (f"Vectors differ by at most {np.abs(ours - peer.vectors()).max():.0e}.",)
            peer.close()
    title = f"Vectors of {ROWS:,} sentences of SST-2 by MiniLM"
    return [comparison(title, seconds, unit="sentences", amount=len(rows), notes=notes)]


class Peer:
    """A process of transformers that encodes the rows at each call.

    Args:
        rows: rows with `text`.
        output: the file of the vectors.
    """

    def __init__(self, rows: list[dict[str, str]], output: Path):
        self._output = output
        command = [peers.TORCH_PYTHON, "-c", TRANSFORMERS, str(pretrained.open("minilm").folder), str(output)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        print(json.dumps([row["text"] for row in rows]), file=self._process.stdin, flush=True)

    def __call__(self) -> None:
        """Encode the rows once."""
        print("again", file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "done\n"

    def vectors(self) -> np.ndarray:
        """Return the vectors of the last call."""
        return np.load(self._output)

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


# As in sentence-transformers: sorted by length, in batches of 32.
TRANSFORMERS = """
import json, sys
import numpy, torch, transformers
folder, output = sys.argv[1:]
texts = json.loads(sys.stdin.readline())
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
model = transformers.AutoModel.from_pretrained(folder).eval()
order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
for _ in sys.stdin:
    vectors = numpy.zeros((len(texts), model.config.hidden_size), "float32")
    with torch.inference_mode():
        for begin in range(0, len(order), 32):
            batch = order[begin : begin + 32]
            features = tokenizer([texts[n] for n in batch], padding=True, truncation=True, return_tensors="pt")
            states, real = model(**features).last_hidden_state, features["attention_mask"].unsqueeze(-1)
            means = (states * real).sum(1) / real.sum(1)
            vectors[batch] = torch.nn.functional.normalize(means).numpy()
    numpy.save(output, vectors)
    print("done", flush=True)
"""
