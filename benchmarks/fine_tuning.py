"""Fine-tuning of MiniLM on SST-2 sentences, in examples per second: our training loop and those of peers."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import peers, sst2
from benchmarks.results import Table
from benchmarks.timing import comparison
from tfattn import pretrained
from tfattn.training.precision import POLICIES, fastest

ROWS, BATCH = 1600, 32


def main() -> list[Table]:
    """Run each candidate in a separate process, in turn; the first epoch compiles and is not counted."""
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "rows.tsv"
        lines = [f"{text}\t{label}" for text, label in sst2.rows(ROWS)]
        data.write_text("sentence\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
        candidates = {"tfattn": run_tfattn, "keras_hub fit": keras_hub_fit}
        if peers.has_transformers():
            candidates["transformers + torch"] = transformers_loop
        seconds = {name: candidate(data) for name, candidate in candidates.items()}
    title = f"fine-tuning MiniLM on {ROWS} rows of SST-2, batches of {BATCH}, {fastest()[0]}: one epoch"
    return [comparison(title, seconds, unit="rows", amount=ROWS)]


def run_tfattn(data: Path) -> float:
    """Return the seconds of the second epoch of `tfattn train`."""
    with tempfile.TemporaryDirectory() as folder:
        overrides = [
            f"runs_folder={folder}",
            f"data.source.path={data}",
            "data.source.fields={text: sentence, label: label}",
            "data.split.hold_out=null",
            "data.validation_source=null",
            "data.split.validation=0.01",
            "data.batching.max_tokens=null",
            f"data.batching.batch_size={BATCH}",
            "training.epochs=2",
            "training.averaging=null",
        ]
        options = [word for override in overrides for word in ("--set", override)]
        command = [sys.executable, "-m", "tfattn", "train", "pipelines/sst2.yaml", *options]
        subprocess.run(command, check=True, capture_output=True)
        (history,) = Path(folder).glob("*/latest/history.jsonl")
        line = json.loads(history.read_text().splitlines()[-1])
        return ROWS / line["examples_per_second"]


def keras_hub_fit(data: Path) -> float:
    """Return the better of the two XLA settings of Keras, with sequences of the length of the longest row."""
    return min(_python(KERAS_HUB, data, "False"), _python(KERAS_HUB, data, "auto"))


def transformers_loop(data: Path) -> float:
    """Train in PyTorch with autocast; batches are padded to their longest row."""
    return _python(TRANSFORMERS, data, pretrained.open("minilm").folder)


def _python(script: str, *arguments: object) -> float:
    return float(peers.last_line(script, *arguments, BATCH, POLICIES[fastest()[0]]))


KERAS_HUB = """
import sys, time
import keras, keras_hub, tensorflow as tf, tensorflow_text as tf_text
from tfattn import pretrained
data, jit, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
keras.config.set_dtype_policy(sys.argv[4])
rows = [line.rstrip("\\n").split("\\t") for line in open(data, encoding="utf-8")][1:]
texts, labels = [row[0] for row in rows], [int(row[1]) for row in rows]
folder = str(pretrained.open("minilm").folder)
tokenizer = keras_hub.models.BertTokenizer.from_preset(folder)
longest = max(len(ids) for ids in tokenizer(texts)) + 2
preprocessor = keras_hub.models.BertTextClassifierPreprocessor(tokenizer, sequence_length=longest)
backbone = keras_hub.models.BertBackbone.from_preset(folder)
model = keras_hub.models.BertTextClassifier(backbone, num_classes=2, preprocessor=preprocessor)
model.compile(
    keras.optimizers.AdamW(5e-5, weight_decay=0.01, global_clipnorm=1.0),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    jit_compile=jit if jit == "auto" else False,
)
dataset = tf.data.Dataset.from_tensor_slices((texts, labels)).shuffle(len(texts)).batch(batch)
model.fit(dataset, verbose=0)
started = time.perf_counter()
model.fit(dataset, verbose=0)
print(time.perf_counter() - started)
"""

TRANSFORMERS = """
import sys, time
import torch, transformers
data, folder, batch, is_bfloat16 = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "mixed_bfloat16"
rows = [line.rstrip("\\n").split("\\t") for line in open(data, encoding="utf-8")][1:]
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01)
encoded = [(tokenizer(text)["input_ids"], int(label)) for text, label in rows]
def epoch():
    for chosen in torch.randperm(len(encoded)).split(batch):
        part = [encoded[index] for index in chosen]
        inputs = tokenizer.pad({"input_ids": [ids for ids, _ in part]}, return_tensors="pt")
        with torch.autocast("cpu", torch.bfloat16, enabled=is_bfloat16):
            loss = model(**inputs, labels=torch.tensor([label for _, label in part])).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
epoch()
started = time.perf_counter()
epoch()
print(time.perf_counter() - started)
"""
