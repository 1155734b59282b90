"""The scripts of LiteRT and llama.cpp in `litert_decoding`, each for a separate process; they print results as JSON."""

from benchmarks.generation_scripts import RATE

LITERT = (
    RATE
    + """
import multiprocessing, tempfile
from pathlib import Path
def write(folder):
    from tfattn.export.litert_decoder import DecoderFiles
    from tfattn.litert.decoder_file import FOLDER
    from tfattn.models.gpt import Gpt
    class Language:
        suppressed_ids = (0,)
    sizes_of_context = {**sizes, "max_sequence_length": 4096}
    DecoderFiles(Gpt(**sizes_of_context), Language(), {}).write(Path(folder) / FOLDER, "int8")
def prompts(rows, length):
    return drawn(rows, length)
def main(folder):
    writing = multiprocessing.get_context("fork").Process(target=write, args=(folder,))
    writing.start()
    writing.join()
    from tfattn.litert.decoder_file import find
    from tfattn.serving.engine.litert_decoder import LiteRtDecoder
    from tfattn.serving.generation.kv_cache import Layout, padded_size
    groups = sizes.get("num_key_value_heads", sizes["num_heads"])
    layout = Layout(sizes["num_layers"], groups, sizes["hidden_dim"] // sizes["num_heads"], np.dtype("float32"))
    before = memory()
    engine = LiteRtDecoder(Path(folder), num_threads=facts["threads"], tokenize=dict)
    chunk = engine.max_chunk
    def read(cache, row, ids):
        own = engine.new_cache(layout, capacity=padded_size(len(ids), least=64, most=4096))
        for start in range(0, len(ids), chunk):
            part = ids[None, start : start + chunk]
            lengths = np.array([start], np.int32)
            found = engine.run("prefill", {"token_ids": part, "lengths": lengths, "past": own})
            own.write(0, start, found["keys_values"][:, :, 0])
        if cache is not None:
            cache.write(row, 0, own.read(0, len(ids)))
    def generate(ids, new):
        rows, length = ids.shape
        cache = engine.new_cache(layout, rows=rows, capacity=padded_size(length + new, least=64, most=4096))
        for row, own in enumerate(ids):
            read(cache, row, own[:-1])
        token_ids, size = ids[:, -1:], length - 1
        settings = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
        settings |= {"presence_penalty": 0.0, "frequency_penalty": 0.0, "seed": 0, "index": 0}
        settings = {name: np.full(rows, value) for name, value in settings.items()}
        settings |= {"allowed": np.ones((rows, 1), bool), "logit_bias": np.zeros((rows, 1), np.float32)}
        for step in range(new):
            inputs = {"token_ids": token_ids, "lengths": np.full(rows, size + step), "past": cache, **settings}
            found = engine.run("decode_step", inputs, ("token_ids", "keys_values"))
            for row in range(rows):
                cache.write(row, size + step, found["keys_values"][:, :, row])
            token_ids = found["token_ids"]
    rates, new = [], facts["new"]
    for rows in (1, 8):
        rates.append(rate(lambda: generate(prompts(rows, facts["prompt"]), new), rows * new))
    for rows in (1, 8):
        long = prompts(rows, facts["long"])
        rates.append(rate(lambda: [read(None, 0, ids) for ids in long], rows * facts["long"]))
    first = [1 / rate(lambda: generate(prompts(1, length), 1), 1) for length in (128, 1024)]
    size = find(Path(folder)).stat().st_size
    values = np.zeros(size // 8)
    read_once = 1 / rate(lambda: values.sum(), 1)
    result = {"rates": rates, "first": first, "memory_bytes": memory() - before - values.nbytes, "file_bytes": size}
    print(json.dumps({**result, "weight_bytes": size, "bytes_per_second": size / read_once}))
def memory():
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
with tempfile.TemporaryDirectory() as folder:
    main(folder)
"""
)

LLAMA_CPP = (
    RATE.replace('sizes, precision = facts["sizes"], facts["precision"]\n', "")
    + """
from concurrent.futures import ThreadPoolExecutor
import xllamacpp
def memory():
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
before = memory()
found = xllamacpp.CommonParams()
found.model.path = facts["file"]
found.n_ctx, found.n_parallel, found.n_gpu_layers = 8 * 1280, 8, 0
found.cpuparams.n_threads = found.cpuparams_batch.n_threads = 2
found.warmup, found.fit_params, found.verbosity = False, False, -1
server = xllamacpp.Server(found)
def complete(ids, new):
    request = {"prompt": ids.tolist(), "max_tokens": new, "temperature": 0.0, "ignore_eos": True, "cache_prompt": False}
    return server.handle_completions(request)
def generate(ids, new):
    with ThreadPoolExecutor(len(ids)) as pool:
        list(pool.map(lambda row: complete(row, new), ids))
rates = [rate(lambda: generate(drawn(rows, facts["prompt"]), facts["new"]), rows * facts["new"]) for rows in (1, 8)]
rates += [rate(lambda: generate(drawn(rows, facts["long"]), 1), rows * facts["long"]) for rows in (1, 8)]
first = [1 / rate(lambda: generate(drawn(1, length), 1), 1) for length in (128, 1024)]
print(json.dumps({"rates": rates, "first": first, "memory_bytes": memory() - before}))
"""
)
