"""Fields of other servers that are not supported, and fields that do not change the response."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from tfattn.errors import listed
from tfattn.serving.protocols.rest.response import invalid_parameter

OFF = (False, 0, "", [], {})
MAX_NAME_LENGTH = 64  # of a field in a message

# The fields that would change the response, each with a remedy and its neutral values (null is always neutral). The
# names are from OpenAI, vLLM, SGLang, llama.cpp, Text Generation Inference and Ollama.
UNSUPPORTED: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    # Tools and other modalities
    "functions": ("use tools", OFF),
    "function_call": ("use tool_choice", ("none",)),
    "max_tool_calls": ("use parallel_tool_calls", ()),
    "parse_tool_calls": ("leave tools out for the text of the model", (True,)),
    "modalities": ("the server only generates text", (["text"], [])),
    "audio": ("the server only generates text", OFF),
    "image": ("the server only generates text", OFF),
    "mm_processor_kwargs": ("send texts or token ids", OFF),
    "media_io_kwargs": ("send texts or token ids", OFF),
    "access_programs": ("leave it out", OFF),
    "web_search_options": ("put the content into a message", ()),
    "reasoning_effort": ("ask for the length of the answer in a message", ("none",)),
    "reasoning": ("ask for the length of the answer in a message", OFF),
    "include_reasoning": ("leave it out: there is no text of reasoning", ()),
    "reasoning_format": ("leave it out: there is no text of reasoning", ("none", "auto")),
    "moderation": ("check the text with another model", OFF),
    "verbosity": ("ask for the length of the answer in a message", ("medium",)),
    # The state of a conversation
    "previous_response_id": ("send all messages: the server stores no responses", ("",)),
    "conversation": ("send all messages: the server stores no responses", OFF),
    "background": ("use stream: the server stores no responses", (False,)),
    "background_options": ("use stream: the server stores no responses", OFF),
    "context_management": ("shorten the prompt", OFF),
    "truncation": ("shorten the prompt", ("disabled",)),
    # The prompt
    "suffix": ("put what comes after the text into the prompt", OFF),
    "chat_template": ("send the formatted text as the prompt of /v1/completions", OFF),
    "chat_template_kwargs": ("send the formatted text as the prompt of /v1/completions", OFF),
    "add_generation_prompt": ("send the whole text as the prompt of /v1/completions", (True,)),
    "continue_final_message": ("send the whole text as the prompt of /v1/completions", (False,)),
    "add_special_tokens": ("send token ids as the prompt of /v1/completions", (False,)),
    "documents": ("put the documents into a message", OFF),
    "prompt_embeds": ("send texts or token ids", OFF),
    "truncate_prompt_tokens": ("shorten the prompt", ()),
    "n_keep": ("shorten the prompt", (0,)),
    "n_discard": ("shorten the prompt", (0,)),
    "image_data": ("send texts or token ids", OFF),
    # The length and the end of the text
    "max_new_tokens": ("use max_tokens", ()),
    "n_predict": ("use max_tokens", ()),
    "num_predict": ("use max_tokens", ()),
    "min_new_tokens": ("use min_tokens", (0,)),
    "t_max_predict_ms": ("use max_tokens", (0,)),
    "n_indent": ("use stop", (0,)),
    "include_stop_str_in_output": ("add the stop string to the text", (False,)),
    "no_stop_trim": ("add the stop string to the text", (False,)),
    # Structured output
    "grammar": ("use structured_outputs, guided_regex or guided_json", OFF),
    "ebnf": ("use structured_outputs, guided_regex or guided_json", OFF),
    "regex": ("use guided_regex", OFF),
    "format": ("use response_format", OFF),
    "structural_tag": ("use response_format", OFF),
    "grammar_lazy": ("use tools", (False,)),
    "grammar_triggers": ("use tools", OFF),
    "guided_whitespace_pattern": ("use guided_regex", OFF),
    # Search
    "n_cmpl": ("use n", (1,)),
    "use_beam_search": ("use n and best_of, or the signature n_best of the export", (False,)),
    "num_beams": ("use n and best_of, or the signature n_best of the export", (1,)),
    "length_penalty": ("use n and best_of", (1,)),
    "early_stopping": ("use n and best_of", (False,)),
    # Sampling
    "do_sample": ("use temperature, where 0 takes the most probable token", ()),
    "options": ("put each option into a field of its own", OFF),
    "samplers": ("use temperature, top_k, top_p and min_p, which apply in this order", ()),
    "logits_processors": ("use logit_bias", OFF),
    "mirostat": ("use top_p", (0,)),
    "typical_p": ("use top_p", (1,)),
    "tfs_z": ("use top_p", (1,)),
    "top_a": ("use min_p", (0,)),
    "top_n_sigma": ("use min_p", (-1, 0)),
    "epsilon_cutoff": ("use min_p", (0,)),
    "eta_cutoff": ("use min_p", (0,)),
    "xtc_probability": ("use temperature", (0,)),
    "dynatemp_range": ("use temperature", (0,)),
    "smoothing_factor": ("use temperature", (0,)),
    "min_keep": ("use top_k", (0, 1)),
    "dry_multiplier": ("use frequency_penalty or presence_penalty", (0,)),
    "no_repeat_ngram_size": ("use frequency_penalty or presence_penalty", (0,)),
    "repeat_penalty": ("use repetition_penalty", (1,)),
    "repeat_last_n": ("leave it out: penalties count all tokens", (-1,)),
    "guidance_scale": ("use temperature", (1,)),
    "negative_prompt": ("describe in a message what to avoid", OFF),
    "lora": ("ask a model that was exported with the adapter", OFF),
    "vllm_xargs": ("use the fields of the server", OFF),
    "kv_transfer_params": ("leave it out: prompts with a common prefix share its cache", OFF),
    # The content of the response
    "response_fields": ("leave it out: a response has all fields", OFF),
    "n_probs": ("use logprobs", (0,)),
    "prompt_logprobs": ("use echo and logprobs of /v1/completions", ()),
    "post_sampling_probs": ("use logprobs", (False,)),
    "include": ("use logprobs of /v1/chat/completions", OFF),
    "skip_special_tokens": ("use logprobs to see tokens", (True,)),
    "spaces_between_special_tokens": ("leave it out: special tokens are not a part of the text", (True,)),
    "return_tokens_as_token_ids": ("use logprobs to see tokens", (False,)),
    "return_token_ids": ("use logprobs to see tokens", (False,)),
    "return_tokens": ("use logprobs to see tokens", (False,)),
}

# Fields that not every path has, with a path that has them and their neutral values elsewhere.
CHAT, COMPLETIONS, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
OTHER_PATH: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "messages": (CHAT, ()),
    "max_completion_tokens": (CHAT, ()),
    "top_logprobs": (CHAT, (0,)),
    "tools": (CHAT, OFF),
    "tool_choice": (CHAT, ("none",)),
    "parallel_tool_calls": (CHAT, (True, False)),
    "prompt": (COMPLETIONS, ()),
    "echo": (COMPLETIONS, (False,)),
    "best_of": (COMPLETIONS, (1,)),
    "input": (RESPONSES, ()),
    "instructions": (RESPONSES, ("",)),
    "max_output_tokens": (RESPONSES, ()),
    "text": (RESPONSES, OFF),
}

# Fields that do not change the response.
WITHOUT_EFFECT = {
    *("user", "store", "metadata", "service_tier", "safety_identifier", "request_id", "priority", "prediction"),
    *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "cache_prompt", "cache_salt", "id_slot"),
    *("timings_per_token", "return_progress", "guided_decoding_backend", "penalize_nl", "mirostat_tau", "mirostat_eta"),
    *("dynatemp_exponent", "xtc_threshold", "dry_base", "dry_allowed_length", "dry_penalty_last_n"),
    "dry_sequence_breakers",
}


class OtherFields(NamedTuple):
    """The known fields that a path does not define.

    Attributes:
        unsupported: the fields that would change the response, each with a remedy and its neutral values.
        without_effect: the fields that do not change the response.
    """

    unsupported: Mapping[str, tuple[str, tuple[Any, ...]]]
    without_effect: Iterable[str]


_OF_OTHER_PATH = {name: (f"{path} has it", neutral) for name, (path, neutral) in OTHER_PATH.items()}
OF_TEXTS = OtherFields({**UNSUPPORTED, **_OF_OTHER_PATH}, WITHOUT_EFFECT)


def check(fields: Mapping[str, Any], *, strict: bool, known: OtherFields = OF_TEXTS) -> list[str]:
    """Refuse unsupported fields that would change the response.

    Args:
        fields: the fields of a request that its path does not define.
        strict: whether to refuse unknown fields, too.
        known: the known fields of the path.

    Returns:
        The names of unknown fields.

    Raises:
        Failure: INVALID_ARGUMENT, with the parameter.
    """
    for name, value in fields.items():
        remedy, neutral = known.unsupported.get(name, ("", ()))
        if remedy and value is not None and value not in neutral:
            raise invalid_parameter(
                name, f"this server does not support it; {remedy}", error_code="unsupported_parameter"
            )
    unknown = [name for name in fields if name not in {*known.unsupported, *known.without_effect}]
    if strict and unknown:
        message = "there is no such field; leave it out, or leave out strict"
        raise invalid_parameter(_escape(unknown[0]), message, error_code="unknown_parameter")
    return unknown


def warning(unknown: Iterable[str]) -> bytes:
    """Return the value of the header that lists unknown fields."""
    return listed(map(_escape, unknown)).encode()


def _escape(name: str) -> str:
    return quote(name[:MAX_NAME_LENGTH], safe="")
