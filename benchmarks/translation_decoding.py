"""Beam search over the validation captions of Multi30k, in translations per second: our export and MarianMT.generate.

Both have the weights of the run of the export; sources are sorted by length, in batches of 50, with 4 beams. Time is
measured from texts to texts, in two ways: batches one after another, with every operation on both cores; and two
batches in parallel, each on one core, as in `tfattn serve`. MarianMT uses two processes for this, because Python
threads would wait for each other.

    tfattn run pipelines/translate_multi30k_transformer.yaml
    python -m benchmarks translation_decoding
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import sacrebleu
from safetensors.numpy import load_file, save_file

from benchmarks import multi30k, peers
from benchmarks.results import Table
from benchmarks.timing import comparison
from tfattn.ops.positions import sinusoidal
from tfattn.preprocessing.sentencepiece_model import SentencePieceModel
from tfattn.training.checkpoints import Checkpoints

NAME, BATCH, BEAMS, ROUNDS = "translate_multi30k_transformer", 50, 4, 3


def main() -> list[Table]:
    """Run each candidate in a separate process, in turn."""
    run, exports = Path("runs") / NAME / "latest", sorted(Path("saved_models", NAME).glob("[0-9]*"))
    if not exports or not run.exists():
        sys.exit(f"no run and export: first `tfattn run pipelines/{NAME}.yaml`")
    pairs = zip(multi30k.lines("val.en"), multi30k.lines("val.de"), strict=True)
    texts, references = zip(*sorted((pair for pair in pairs if all(pair)), key=lambda pair: len(pair[0])), strict=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "texts.json").write_text(json.dumps(texts))
        ways = {"batch after batch": 1, "two side by side": 2}
        candidates = {f"tfattn, {way}": (OURS, exports[-1], folder, callers) for way, callers in ways.items()}
        if peers.has_transformers():
            weights_for_marian(run, folder)
            for kind in ("float32", "bfloat16"):
                for way, callers in ways.items():
                    candidates[f"MarianMT {kind}, {way}"] = (MARIAN, kind, folder, callers)
        rounds = [
            {name: json.loads(peers.last_line(*what, BATCH, BEAMS)) for name, what in candidates.items()}
            for _ in range(ROUNDS)
        ]
    seconds = {name: statistics.median(each[name]["seconds"] for each in rounds) for name in candidates}
    seconds = dict(sorted(seconds.items(), key=lambda item: (not item[0].startswith("tfattn"), item[1])))
    written = {name: answer["texts"] for name, answer in rounds[0].items()}
    ours = next(iter(written.values()))
    notes = []
    for name, theirs in written.items():
        same = np.mean([a == b for a, b in zip(theirs, ours, strict=True)])
        bleu = sacrebleu.corpus_bleu(theirs, [references]).score
        notes.append(f"{name}: BLEU {bleu:.1f}, {same:.1%} of its texts are ours to the letter.")
    title = f"translation of {len(texts):,} captions, {BEAMS} beams, batches of {BATCH}"
    return [comparison(title, seconds, unit="texts", amount=len(texts), notes=tuple(notes))]


def weights_for_marian(run: Path, folder: Path) -> None:
    """Write the best weights of the run under the names of transformers, and its SentencePiece model."""
    best = Checkpoints(run / "checkpoints").best()
    ours = load_file(best.folder / f"{'averages' if best.holds('averages') else 'weights'}.safetensors")
    theirs = {"model.shared.weight": ours["transformer/token/embeddings"]}
    names = {"attention": "self_attn", "self_attention": "self_attn", "cross_attention": "encoder_attn"}
    for path, value in ours.items():
        if path == "transformer/token/embeddings":
            continue
        _, block, part, *rest = path.split("/")
        side, number = block.split("_")
        layer = f"model.{side}.layers.{number}"
        if part.endswith("_norm"):
            norm = "final_layer_norm" if part == "feed_forward_norm" else f"{names[part[:-5]]}_layer_norm"
            theirs[f"{layer}.{norm}.{'weight' if rest[0] == 'gamma' else 'bias'}"] = value
            continue
        inner, kind = rest
        value, kind = (value.T, "weight") if kind == "kernel" else (value, kind)
        if part == "feed_forward":
            theirs[f"{layer}.{'fc1' if inner == 'intermediate' else 'fc2'}.{kind}"] = value
            continue
        projections = {"qkv": "qkv", "key_value": "kv", "query": "q"}.get(inner, ["out"])
        for projection, piece in zip(projections, np.split(value, len(projections)), strict=True):
            theirs[f"{layer}.{names[part]}.{projection}_proj.{kind}"] = piece
    positions = np.array(sinusoidal(np.arange(256), multi30k.SIZES["hidden_dim"]), "float32")
    theirs |= {f"model.{side}.embed_positions.weight": positions for side in ("encoder", "decoder")}
    theirs |= {f"model.{side}.embed_tokens.weight": theirs["model.shared.weight"] for side in ("encoder", "decoder")}
    theirs["lm_head.weight"] = theirs.pop("model.shared.weight")
    save_file({name: np.ascontiguousarray(value) for name, value in theirs.items()}, folder / "marian.safetensors")
    (path,) = run.parent.glob("prepared/*/preprocessing/sentencepiece.model")
    content = path.read_bytes()
    (folder / "sentencepiece.model").write_bytes(content)
    model = SentencePieceModel(content)
    config = multi30k.marian_config(len(model.tokens), start_id=model.start_id, end_id=model.end_id)
    (folder / "marian.json").write_text(json.dumps(config))


OURS = """
import concurrent.futures, json, pathlib, sys, time
import tensorflow as tf, tensorflow_text
callers, batch = int(sys.argv[3]), int(sys.argv[4])
if callers > 1:
    tf.config.threading.set_intra_op_parallelism_threads(1)
texts = json.loads((pathlib.Path(sys.argv[2]) / "texts.json").read_text())
loaded = tf.saved_model.load(sys.argv[1])
translate = loaded.signatures["serving_default"]
def run(texts):
    return [text.decode() for text in translate(text=tf.constant(texts))["text"].numpy()]
parts = [texts[start : start + batch] for start in range(0, len(texts), batch)][::-1]
with concurrent.futures.ThreadPoolExecutor(callers) as pool:
    list(pool.map(run, parts[::4]))
    started = time.perf_counter()
    written = list(pool.map(run, parts))
    seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "texts": sum(written[::-1], [])}))
"""

MARIAN = """
import concurrent.futures, json, multiprocessing, pathlib, sys, time
import sentencepiece, torch, transformers
from safetensors.torch import load_file
kind, folder, callers, batch = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
if callers > 1:
    torch.set_num_threads(1)
texts, config = (json.loads((folder / name).read_text()) for name in ("texts.json", "marian.json"))
pieces = sentencepiece.SentencePieceProcessor(str(folder / "sentencepiece.model"))
model = transformers.MarianMTModel(transformers.MarianConfig(**config)).eval()
missing, unexpected = model.load_state_dict(load_file(folder / "marian.safetensors"), strict=False)
assert not unexpected and set(missing) <= {"final_logits_bias", "model.shared.weight"}, (missing, unexpected)
model = model.to(getattr(torch, kind))
def run(texts):
    ids = [[*row, pieces.eos_id()] for row in pieces.encode(texts)]
    longest = max(map(len, ids))
    padded = torch.tensor([row + [0] * (longest - len(row)) for row in ids])
    with torch.inference_mode():
        answer = model.generate(
            input_ids=padded, attention_mask=(padded != 0).long(), num_beams=int(sys.argv[5]), length_penalty=1.0,
            early_stopping=True, max_new_tokens=2 * longest + 10, suppress_tokens=[0, 1, 2],
        )
    return pieces.decode([[token for token in row if token > 3] for row in answer.tolist()])
parts = [texts[start : start + batch] for start in range(0, len(texts), batch)][::-1]
if callers > 1:
    pool = concurrent.futures.ProcessPoolExecutor(callers, mp_context=multiprocessing.get_context("fork"))
else:
    pool = concurrent.futures.ThreadPoolExecutor(1)
with pool:
    list(pool.map(run, parts[::4]))
    started = time.perf_counter()
    written = list(pool.map(run, parts))
    seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "texts": sum(written[::-1], [])}))
"""
