"""The scripts of the candidates of `generation`, each for a separate process; they print results as JSON."""

# What all scripts share: rates of calls.
RATE = """
import json, statistics, sys, time
import numpy as np
facts = json.loads(sys.argv[1])
sizes, precision = facts["sizes"], facts["precision"]
def drawn(rows, length):
    return np.random.default_rng(0).integers(1, 40000, (rows, length)).astype("int32")
def rate(call, tokens):
    call()
    times = []
    for _ in range(facts["rounds"]):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return tokens / statistics.median(times)
"""

OURS = (
    RATE
    + """
import keras, tensorflow as tf
keras.config.set_dtype_policy(precision)
from tfattn.decoding.generation import Penalties
from tfattn.decoding.sampling import Sampling
from tfattn.models.gpt import Gpt
from tfattn.tasks.generation import sample_continuations
model = Gpt(**sizes)
def write(token_ids):
    rows = tf.shape(token_ids)[0]
    still = tf.zeros([rows])
    own = Sampling.of_rows(rows, seed=0, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0)
    return sample_continuations(
        model, token_ids, tf.ones_like(token_ids, tf.bool), end_id=0, suppressed_ids=(0,), sampling=own,
        max_tokens=tf.fill([rows], facts["new"]), penalties=Penalties(still + 1, still, still),
    ).token_ids
ids = tf.TensorSpec([None, None], tf.int32)
write = tf.function(write, input_signature=[ids], autograph=False)
read = lambda token_ids: model.prefill(token_ids, tf.ones_like(token_ids, tf.bool))[0]
read = tf.function(read, input_signature=[ids], autograph=False)
rates = []
for rows in (1, 8):
    short = tf.constant(drawn(rows, facts["prompt"]))
    rates.append(rate(lambda: write(short).numpy(), rows * facts["new"]))
for rows in (1, 8):
    long = tf.constant(drawn(rows, facts["long"]))
    rates.append(rate(lambda: read(long).numpy(), rows * facts["long"]))
rates.append(sum(v.value.dtype.size * np.prod(v.shape) for v in model.trainable_variables) / 1e9)
print(json.dumps(rates))
"""
)

KERAS_HUB = (
    RATE
    + """
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, keras_hub
keras.config.set_dtype_policy(precision)
names = ("vocabulary_size", "num_layers", "hidden_dim", "intermediate_dim")
if facts["shape"] == "GPT-2":
    own = {**{name: sizes[name] for name in names}, "num_heads": sizes["num_heads"], "max_sequence_length": 1024}
    model = keras_hub.models.GPT2CausalLM(keras_hub.models.GPT2Backbone(**own, dropout=0.0), preprocessor=None)
else:
    own = {**{name: sizes[name] for name in names}, "num_query_heads": sizes["num_heads"]}
    own |= {"num_key_value_heads": sizes["num_key_value_heads"], "rope_max_wavelength": sizes["rotary_base"]}
    backbone = keras_hub.models.LlamaBackbone(**own, tie_word_embeddings=True)
    model = keras_hub.models.LlamaCausalLM(backbone, preprocessor=None)
model.compile(sampler="greedy")
def write(ids, new):
    total = ids.shape[1] + new
    padded = np.zeros((len(ids), total), "int32")
    padded[:, : ids.shape[1]] = ids
    return model.generate(
        {"token_ids": padded, "padding_mask": np.arange(total)[None] < np.full((len(ids), 1), ids.shape[1])},
        stop_token_ids=None,
    )
rates = [rate(lambda: write(drawn(rows, facts["prompt"]), facts["new"]), rows * facts["new"]) for rows in (1, 8)]
for rows in (1, 8):
    long = drawn(rows, facts["long"])
    rates.append(rate(lambda: write(long, 1), rows * facts["long"]))
print(json.dumps(rates))
"""
)

TRANSFORMERS = (
    RATE
    + """
import torch, transformers
common = {"vocab_size": sizes["vocabulary_size"], "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
if facts["shape"] == "GPT-2":
    config = transformers.GPT2Config(**common)
    model = transformers.GPT2LMHeadModel(config)
else:
    config = transformers.LlamaConfig(
        hidden_size=sizes["hidden_dim"], num_hidden_layers=sizes["num_layers"], num_attention_heads=sizes["num_heads"],
        num_key_value_heads=sizes["num_key_value_heads"], intermediate_size=sizes["intermediate_dim"],
        rope_theta=sizes["rotary_base"], tie_word_embeddings=True, max_position_embeddings=8192, **common,
    )
    model = transformers.LlamaForCausalLM(config)
model = model.eval().to(getattr(torch, precision))
def write(ids, new):
    with torch.inference_mode():
        return model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=new, min_new_tokens=new
        )
def tensor(rows, length):
    return torch.tensor(drawn(rows, length).astype("int64"))
rates = [rate(lambda: write(tensor(rows, facts["prompt"]), facts["new"]), rows * facts["new"]) for rows in (1, 8)]
rates += [rate(lambda: write(tensor(rows, facts["long"]), 1), rows * facts["long"]) for rows in (1, 8)]
print(json.dumps(rates))
"""
)

OURS_TRAINED = """
import sys, keras
from benchmarks import pretraining_step
keras.config.set_dtype_policy("mixed_bfloat16")
print(pretraining_step.seconds("Gpt", *sys.argv[1:]))
"""

STEPS = """
import json, statistics, sys, time
import numpy as np
facts = json.loads(sys.argv[1])
ids = np.array(facts["token_ids"])
def median(step):
    times = []
    for _ in range(facts["rounds"] + 1):
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])
"""

KERAS_HUB_TRAINED = (
    STEPS
    + """
import keras, keras_hub
keras.config.set_dtype_policy("mixed_bfloat16")
backbone = keras_hub.models.GPT2Backbone(**facts["sizes"], max_sequence_length=1024, dropout=0.1)
model = keras_hub.models.GPT2CausalLM(backbone, preprocessor=None)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.AdamW(1e-4, weight_decay=0.01), loss, jit_compile=False)
inputs = {"token_ids": ids[:, :-1], "padding_mask": np.ones_like(ids[:, :-1], bool)}
print(median(lambda: model.train_on_batch(inputs, ids[:, 1:])))
"""
)

TRANSFORMERS_TRAINED = (
    STEPS
    + """
import torch, transformers
model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
ids = torch.tensor(ids)
def step():
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(median(step))
"""
)
