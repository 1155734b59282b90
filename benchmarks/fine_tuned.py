"""Fine-tuning beside transformers: `python -m benchmarks.fine_tuned PIPELINE:METRIC ... [--seeds 3] [--set KEY=VALUE]`.

The peer gets the same rows, encoder, rate, schedule and number of epochs, and nothing is chosen on the rows that
measure. METRIC is accuracy, f1/1, matthews_correlation or pearson; the pipelines classify texts or pairs, or predict a
number of them. The interval is that of the mean of the differences, each of two runs of the same seed. How fast they
are is a matter of training alone.

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
from tfattn.data.split import TRAIN, VALIDATION

METRICS: dict[str, Callable[[Sequence, Sequence], float]] = {
    "accuracy": accuracy_score,
    "f1/1": lambda true, found: f1_score(true, found, pos_label="1"),
    "matthews_correlation": matthews_corrcoef,
    "pearson": lambda true, found: pearsonr(true, found).statistic,
}
ENCODER = "minilm"

# In bfloat16 as far as torch.autocast goes, mean pooling, batches of about as many tokens, padded to their longest.
PEER = """
import json, sys, time, torch, transformers
rows, folder, options = json.load(open(sys.argv[1])), sys.argv[2], json.loads(sys.argv[3])
torch.manual_seed(options["seed"])
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
encoder = transformers.AutoModel.from_pretrained(folder)
(texts, targets), (asked, _) = rows["train"], rows["validation"]
classes = None if options["regression"] else sorted(set(targets))
y = torch.tensor([t if classes is None else classes.index(t) for t in targets])
head = torch.nn.Linear(encoder.config.hidden_size, len(classes) if classes else 1)
dropout = torch.nn.Dropout(0.1)

def logits(texts):
    inputs = tokenizer(*map(list, zip(*texts)), padding=True, truncation=True,
                       max_length=options["max_length"], return_tensors="pt")
    mask = inputs["attention_mask"][:, :, None]
    x = encoder(**inputs).last_hidden_state.float()
    return head(dropout((x * mask).sum(1) / mask.sum(1)))

lengths = [len(ids) for ids in tokenizer(*map(list, zip(*texts)))["input_ids"]]
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
            found = logits([texts[row] for row in chosen])
        if classes is None:
            loss = torch.nn.functional.mse_loss(found[:, 0].float(), y[chosen].float())
        else:
            loss = torch.nn.functional.cross_entropy(found.float(), y[chosen])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
seconds = time.perf_counter() - started
encoder.eval(), dropout.eval()
with torch.no_grad():
    found = torch.cat([logits(asked[start:start + 64]) for start in range(0, len(asked), 64)])
found = found[:, 0].tolist() if classes is None else [classes[one] for one in found.argmax(1)]
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
    is_number = metric == "pearson"
    rows = {}
    for split, of_split in divided(data, seed).items():
        texts = [[row.fields[name] for name in data.preprocessing.fields] for row in of_split]
        targets = [row.fields["target" if is_number else "label"] for row in of_split]
        rows[split] = texts, [float(target) for target in targets] if is_number else targets
    options = {
        "seed": seed,
        "regression": is_number,
        "epochs": training["epochs"],
        "learning_rate": training["optimizer"]["learning_rate"],
        "max_length": data.preprocessing.max_length,
        "max_tokens": config.values["data"]["batching"]["max_tokens"],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_text(json.dumps({split: rows[split] for split in (TRAIN, VALIDATION)}))
        weights = pretrained.open(ENCODER).folder
        said = json.loads(peers.last_line(PEER, path, weights, json.dumps(options)))
    return float(METRICS[metric](rows[VALIDATION][1], said["predictions"])), said["seconds"]


if __name__ == "__main__":
    options = runs.parser("benchmarks.fine_tuned", __doc__).parse_args()
    results.publish([main(options)], command=results.own_command(), record=options.record)
