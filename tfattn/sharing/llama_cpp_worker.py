"""Continue prompts greedily with llama.cpp, without tfattn and TensorFlow.

A script, not a module: `python llama_cpp_worker.py REQUEST RESULT`. REQUEST is JSON: `file`, `prompts`, `max_tokens`,
and `context`, the number of positions. RESULT becomes JSON: `answers`, for each prompt the `ids` of the new tokens
and the `text`; and the `version`.
"""

import json
import sys

import xllamacpp


def main(request_path, result_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    server = xllamacpp.Server(settings(request["file"], request["context"]))
    answers = [complete(server, prompt, request["max_tokens"]) for prompt in request["prompts"]]
    with open(result_path, "w", encoding="utf-8") as file:
        json.dump({"answers": answers, "version": f"llama.cpp (xllamacpp {xllamacpp.__version__})"}, file)


def settings(path, context):
    found = xllamacpp.CommonParams()
    found.model.path = path
    found.n_ctx, found.n_parallel, found.n_gpu_layers = context, 1, 0
    found.warmup, found.fit_params, found.verbosity = False, False, -1
    # Caches of keys and values in float32: the weights alone differ in precision.
    found.cache_type_k = found.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    found.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return found


def complete(server, prompt, max_tokens):
    # The answer alone leaves out tokens that end within a character.
    request = {"prompt": prompt, "max_tokens": max_tokens, "temperature": 0.0, "return_tokens": True, "verbose": True}
    answer = server.handle_completions(request)
    return {"text": answer["choices"][0]["text"], "ids": answer["__verbose"]["tokens"]}


if __name__ == "__main__":
    main(*sys.argv[1:])
