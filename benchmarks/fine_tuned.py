"""Fine-tuning beside transformers: `python -m benchmarks.fine_tuned PIPELINE:METRIC ... [--seeds 3] [--set KEY=VALUE]`.

The peer gets the same rows, encoder, rate, schedule and number of epochs, and nothing is chosen on the rows that
measure. METRIC is accuracy, f1/1, matthews_correlation or pearson, where the pipelines classify texts or pairs, or
predict a number of them; or f1, of entities, where they tag words. The interval is that of the mean of the differences,
each of two runs of the same seed. How fast they are is a matter of training alone.

    TORCH_PYTHON=... python -m benchmarks.fine_tuned pipelines/cola.yaml:matthews_correlation pipelines/mrpc.yaml:f1/1
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from benchmarks import peers, results, runs
from benchmarks.accuracy import divided
from benchmarks.paired import ahead
from benchmarks.results import Table
from tfattn import files, pretrained
from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.data.section import Data
from tfattn.data.source import Row
from tfattn.data.split import TRAIN, VALIDATION
from tfattn.data.tag_schemes import spans, to_iob2


def entity_f1(true: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """Compute the F1 of entities of tags in IOB2; an I- tag that goes on with nothing begins one, as in seqeval."""
    right, told = (
        {(row, *span) for row, tags in enumerate(each) for span in spans(to_iob2(tags, "iob1"))}
        for each in (true, found)
    )
    return 2 * len(right & told) / (len(right) + len(told))


ENTITIES = "f1"  # of taggers
METRICS: dict[str, Callable[[Sequence, Sequence], float]] = {
    "accuracy": accuracy_score,
    "f1/1": lambda true, found: f1_score(true, found, pos_label="1"),
    "matthews_correlation": matthews_corrcoef,
    "pearson": lambda true, found: pearsonr(true, found).statistic,
    ENTITIES: entity_f1,
}
ENCODER = "minilm"

# In bfloat16 as far as torch.autocast goes, batches of about as many tokens, padded to their longest. What
# stands between the beginning and the training makes `head`, `lengths`, `loss_of` and `predicted`.
BEGIN = """
import json, sys, time, torch, transformers
rows, folder, options = json.load(open(sys.argv[1])), sys.argv[2], json.loads(sys.argv[3])
torch.manual_seed(options["seed"])
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
encoder = transformers.AutoModel.from_pretrained(folder)
(texts, targets), (asked, _) = rows["train"], rows["validation"]
dropout = torch.nn.Dropout(0.1)
"""
# Mean pooling.
TEXTS = """
classes = None if options["regression"] else sorted(set(targets))
y = torch.tensor([t if classes is None else classes.index(t) for t in targets])
head = torch.nn.Linear(encoder.config.hidden_size, len(classes) if classes else 1)
lengths = [len(ids) for ids in tokenizer(*map(list, zip(*texts)))["input_ids"]]

def logits(texts):
    inputs = tokenizer(*map(list, zip(*texts)), padding=True, truncation=True,
                       max_length=options["max_length"], return_tensors="pt")
    mask = inputs["attention_mask"][:, :, None]
    x = encoder(**inputs).last_hidden_state.float()
    return head(dropout((x * mask).sum(1) / mask.sum(1)))

def loss_of(chosen):
    found = logits([texts[row] for row in chosen]).float()
    if classes is None:
        return torch.nn.functional.mse_loss(found[:, 0], y[chosen])
    return torch.nn.functional.cross_entropy(found, y[chosen])

def predicted(texts):
    found = logits(texts)
    return found[:, 0].tolist() if classes is None else [classes[one] for one in found.argmax(1)]
"""
# The first piece of each word tells its tag.
TAGS = """
classes = sorted({tag for tags in targets for tag in tags})
head = torch.nn.Linear(encoder.config.hidden_size, len(classes))
lengths = [len(ids) for ids in tokenizer(texts, is_split_into_words=True)["input_ids"]]

def read(texts):
    inputs = tokenizer(texts, is_split_into_words=True, padding=True, truncation=True,
                       max_length=options["max_length"], return_tensors="pt")
    firsts = []
    for row in range(len(texts)):
        words = inputs.word_ids(row)
        firsts.append([place for place, word in enumerate(words) if word is not None and word != words[place - 1]])
    x = encoder(**inputs).last_hidden_state.float()
    return head(dropout(x)), firsts

def loss_of(chosen):
    found, firsts = read([texts[row] for row in chosen])
    told = torch.cat([one[places] for one, places in zip(found, firsts)])
    right = [classes.index(tag) for row, places in zip(chosen, firsts) for tag in targets[row][:len(places)]]
    return torch.nn.functional.cross_entropy(told.float(), torch.tensor(right))

def predicted(texts):
    found, firsts = read(texts)
    tags = [[classes[one] for one in row[places].argmax(1)] for row, places in zip(found, firsts)]
    return [row + ["O"] * (len(words) - len(row)) for row, words in zip(tags, texts)]
"""
TRAINING = """
size = max(1, round(options["max_tokens"] / (sum(lengths) / len(lengths))))
weights = [*encoder.parameters(), *head.parameters()]
optimizer = torch.optim.AdamW(weights, lr=options["learning_rate"], weight_decay=0.01)
steps = options["epochs"] * -(-len(texts) // size)
schedule = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
encoder.train()
started = time.perf_counter()
for _ in range(options["epochs"]):
    for chosen in torch.randperm(len(texts)).split(size):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(chosen.tolist())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
seconds = time.perf_counter() - started
encoder.eval(), dropout.eval()
with torch.no_grad():
    found = [one for start in range(0, len(asked), 64) for one in predicted(asked[start:start + 64])]
print(json.dumps({"predictions": found, "seconds": seconds}))
"""


def main(arguments: argparse.Namespace) -> Table:
    """Run everybody with one seed after the other, each run in a process of its own."""
    rows = []
    for named in arguments.pipelines:
        pipeline, _, metric = named.partition(":")
        measured = []
        for seed in range(1, arguments.seeds + 1):
            overrides = [*arguments.set, f"seed={seed}"]
            measured.append((ours(pipeline, overrides, metric), of_peer(pipeline, overrides, metric, seed)))
            (own, own_seconds), (other, other_seconds) = measured[-1]
            print(f"{pipeline}, seed {seed}: {own:.4f} ({own_seconds:.0f} s), {other:.4f} ({other_seconds:.0f} s)")
        (own, own_seconds), (other, other_seconds) = (np.array(one).T for one in zip(*measured, strict=True))
        faster = f"{np.median(other_seconds / own_seconds):.2f}"
        means = [f"{own.mean():.4f}", f"{other.mean():.4f}"]
        rows.append([f"{Path(pipeline).stem}, {metric}", *means, ahead(own, other), faster])
    columns = ["", "tfattn", "transformers", "ahead by (95 % interval)", "times as fast"]
    return Table(title=f"{ENCODER} fine-tuned, {arguments.seeds} seeds", columns=columns, rows=rows)


def ours(pipeline: str, overrides: Sequence[str], metric: str) -> tuple[float, float]:
    """Return the metric of a run, and the seconds of its training."""
    with runs.evaluated(pipeline, overrides) as run:
        history = files.read_json_lines(run / "history.jsonl", dict[str, int | float])
        return runs.metrics_of(run)[metric], sum(epoch["seconds"] for epoch in history)


def of_peer(pipeline: str, overrides: Sequence[str], metric: str, seed: int) -> tuple[float, float]:
    """Return the same of the peer, on the same rows."""
    config = resolve(pipeline, [*overrides, "data.preprocessing.vocabulary=train"])
    data, training = build(config, "data"), config.values["training"]
    rows = {split: _read(data, metric, of_split) for split, of_split in divided(data, seed).items()}
    options = {
        "seed": seed,
        "regression": metric == "pearson",
        "epochs": training["epochs"],
        "learning_rate": training["optimizer"]["learning_rate"],
        "max_length": data.preprocessing.max_length,
        "max_tokens": config.values["data"]["batching"]["max_tokens"],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_text(json.dumps({split: rows[split] for split in (TRAIN, VALIDATION)}))
        weights = pretrained.open(ENCODER).folder
        script = BEGIN + (TAGS if metric == ENTITIES else TEXTS) + TRAINING
        said = json.loads(peers.last_line(script, path, weights, json.dumps(options)))
    return float(METRICS[metric](rows[VALIDATION][1], said["predictions"])), said["seconds"]


def _read(data: Data, metric: str, rows: Sequence[Row]) -> tuple[list, list]:
    """Return what is read of each row, and what is to be told."""
    if metric == ENTITIES:
        return [row.fields["text"].split(" ") for row in rows], [row.fields["tags"] for row in rows]
    texts = [[row.fields[name] for name in data.preprocessing.fields] for row in rows]
    if metric == "pearson":
        return texts, [float(row.fields["target"]) for row in rows]
    return texts, [row.fields["label"] for row in rows]


if __name__ == "__main__":
    options = runs.parser("benchmarks.fine_tuned", __doc__).parse_args()
    results.publish([main(options)], command=results.own_command(), record=options.record)
