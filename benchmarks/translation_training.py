"""Training of a small Transformer on Multi30k, in tokens per second: our loop, KerasHub layers with fit, and MarianMT.

All have the same pairs, the same SentencePiece model, and the same batches of at most 4,096 tokens with padding; the
tokens of source and target are counted without padding. The first epoch is not counted.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks import multi30k, peers
from benchmarks.results import Table
from benchmarks.timing import comparison, medians
from tfattn.data.batching import Batching
from tfattn.preprocessing.sentencepiece_model import SentencePieceModel
from tfattn.training.precision import POLICIES, fastest

ROWS, MAX_TOKENS, VOCABULARY = 8_000, 4096, 8000
CEILING_SIDE = 4096  # of the square matrices whose product measures the peak rate of the machine


def main() -> list[Table]:
    """Run each candidate in a separate process, in turn."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for language in ("en", "de"):
            text = "\n".join(multi30k.lines(f"train.{language}", ROWS)) + "\n"
            (folder / f"train.{language}").write_text(text, encoding="utf-8")
        seconds = {"tfattn": run_tfattn(folder)}
        tokens = write_batches(folder)
        seconds["keras_hub layers, fit"] = float(peers.last_line(KERAS_HUB, folder))
        if peers.has_transformers():
            seconds["transformers MarianMT"] = float(peers.last_line(MARIAN, folder))
    fraction = operations(tokens) / seconds["tfattn"] / ceiling()
    products = f"products of matrices of {CEILING_SIDE} x {CEILING_SIDE}"
    notes = (f"Ours does {fraction:.1%} of the operations per second that this machine reaches in {products}.",)
    title = f"training on {ROWS:,} pairs of Multi30k, {fastest()[0]}: one epoch, tokens without padding"
    return [comparison(title, seconds, unit="tokens", amount=tokens, notes=notes)]


def run_tfattn(folder: Path) -> float:
    """Return the seconds of the second epoch of `tfattn train`; writes the SentencePiece model into the folder."""
    overrides = [
        f"runs_folder={folder}/runs",
        f"data.source.path={folder}/train.en",
        f"data.source.target_path={folder}/train.de",
        f"data.preprocessing.vocabulary_size={VOCABULARY}",
        f"data.batching.max_tokens={MAX_TOKENS}",
        "data.validation_source=null",
        "data.split.validation=0.01",
        "training.epochs=2",
    ]
    options = [word for override in overrides for word in ("--set", override)]
    pipeline = "pipelines/translate_multi30k_transformer.yaml"
    subprocess.run([sys.executable, "-m", "tfattn", "train", pipeline, *options], check=True, capture_output=True)
    (model,) = folder.glob("runs/*/prepared/*/preprocessing/sentencepiece.model")
    (folder / "sentencepiece.model").write_bytes(model.read_bytes())
    (history,) = folder.glob("runs/*/latest/history.jsonl")
    line = json.loads(history.read_text().splitlines()[-1])
    return ROWS / line["examples_per_second"]


def write_batches(folder: Path) -> int:
    """Write the pairs as ids and the batches of two epochs into the folder; return the tokens of an epoch."""
    model = SentencePieceModel((folder / "sentencepiece.model").read_bytes())
    source, target = (model.split(multi30k.lines(f"train.{name}", ROWS)).to_list() for name in ("en", "de"))
    source = [[*ids, model.end_id] for ids in source]
    target = [[model.start_id, *ids, model.end_id] for ids in target]
    lengths = np.array([(len(ours), len(theirs)) for ours, theirs in zip(source, target, strict=True)])
    batching = Batching(max_tokens=MAX_TOKENS)
    plans = [batching.plan([lengths], seed=7, epoch=epoch, shuffle=True) for epoch in (0, 1)]
    epochs = [[rows.tolist() for window in plan for rows in window.batches] for plan in plans]
    facts = {"source": source, "target": target, "epochs": epochs, "sizes": multi30k.SIZES, "vocabulary": VOCABULARY}
    facts |= {"policy": POLICIES[fastest()[0]]}
    facts |= {"marian": multi30k.marian_config(VOCABULARY, start_id=model.start_id, end_id=model.end_id)}
    (folder / "batches.json").write_text(json.dumps(facts))
    return int(lengths.sum())


def operations(tokens: int) -> float:
    """Compute the operations of the matrix products for the tokens, half of them source; backward counts twice."""
    width, layers, inner = (multi30k.SIZES[name] for name in ("hidden_dim", "num_layers", "intermediate_dim"))
    encoder = layers * (4 * width * width + 2 * width * inner)
    decoder = layers * (8 * width * width + 2 * width * inner) + width * VOCABULARY
    return 3 * 2 * (encoder + decoder) * tokens / 2


def ceiling() -> float:
    """Measure the operations per second of a large matrix product."""
    matrix = tf.ones((CEILING_SIDE, CEILING_SIDE), fastest()[0])
    product = tf.function(lambda: tf.linalg.matmul(matrix, matrix)[0, 0])
    (seconds,) = medians({"product": lambda: product().numpy()}, rounds=5).values()
    return 2 * CEILING_SIDE**3 / seconds


KERAS_HUB = """
import json, pathlib, sys, time
import keras, keras_hub, numpy as np, tensorflow as tf
facts = json.loads((pathlib.Path(sys.argv[1]) / "batches.json").read_text())
sizes, vocabulary = facts["sizes"], facts["vocabulary"]
keras.config.set_dtype_policy(facts["policy"])
layers = keras_hub.layers
table = layers.ReversibleEmbedding(vocabulary, sizes["hidden_dim"], mask_zero=True)
block = {name: sizes[name] for name in ("intermediate_dim", "num_heads")} | {"dropout": 0.3}
source, target = (keras.Input((None,), dtype="int32") for _ in range(2))
def embedded(ids):
    x = table(ids) * sizes["hidden_dim"] ** 0.5
    return keras.layers.Dropout(0.3)(x + layers.SinePositionEncoding()(x))
not_padding = lambda ids: keras.ops.not_equal(ids, 0)
x = embedded(source)
for _ in range(sizes["num_layers"]):
    x = layers.TransformerEncoder(**block)(x, padding_mask=not_padding(source))
y = embedded(target)
for _ in range(sizes["num_layers"]):
    masks = {"decoder_padding_mask": not_padding(target), "encoder_padding_mask": not_padding(source)}
    y = layers.TransformerDecoder(**block)(y, x, **masks)
model = keras.Model([source, target], table(y, reverse=True))
model.compile(
    keras.optimizers.AdamW(3e-3, weight_decay=0.01, global_clipnorm=1.0),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    jit_compile=False,
)
def padded(side, rows):
    ids = [facts[side][row] for row in rows]
    result = np.zeros((len(ids), max(map(len, ids))), "int32")
    for line, row in zip(result, ids):
        line[: len(row)] = row
    return result
def batches(epoch):
    for rows in facts["epochs"][epoch]:
        source, target = padded("source", rows), padded("target", rows)
        yield (source, target[:, :-1]), target[:, 1:], (target[:, 1:] != 0).astype("float32")
ids = tf.TensorSpec((None, None), tf.int32)
signature = ((ids, ids), ids, tf.TensorSpec((None, None), tf.float32))
def fit(epoch):
    data = tf.data.Dataset.from_generator(lambda: batches(epoch), output_signature=signature)
    data = data.apply(tf.data.experimental.assert_cardinality(len(facts["epochs"][epoch])))
    model.fit(data.prefetch(4), verbose=0)
fit(0)
started = time.perf_counter()
fit(1)
print(time.perf_counter() - started)
"""

MARIAN = """
import json, pathlib, sys, time
import tokenizers, torch, transformers
facts = json.loads((pathlib.Path(sys.argv[1]) / "batches.json").read_text())
config = transformers.MarianConfig(**facts["marian"])
model = transformers.MarianMTModel(config).train()
plain = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<pad>": 0}, unk_token="<pad>"))
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>")
collate = transformers.DataCollatorForSeq2Seq(tokenizer, model)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
rows = [{"input_ids": s, "labels": t[1:]} for s, t in zip(facts["source"], facts["target"])]
is_bfloat16 = facts["policy"] == "mixed_bfloat16"
def run(epoch):
    for chosen in facts["epochs"][epoch]:
        batch = collate([rows[row] for row in chosen])
        labels = batch.pop("labels")
        with torch.autocast("cpu", torch.bfloat16, enabled=is_bfloat16):
            logits = model(**batch).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
run(0)
started = time.perf_counter()
run(1)
print(time.perf_counter() - started)
"""
