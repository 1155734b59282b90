"""Serialization of OpenAI's responses: items with text and calls, and the events of their parts."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tfattn.formats.tool_calls import Delta, ToolCallParser
from tfattn.serving.api.failure import Failure
from tfattn.serving.generation.output import OutputChunk, Usage
from tfattn.serving.protocols.rest.openai.response_builder import (
    ResponseBuilder,
    Usages,
    new_id,
    server_sent_event,
    to_json,
)
from tfattn.serving.protocols.rest.response import error_object

IN_PROGRESS, COMPLETED, INCOMPLETE, FAILED = "in_progress", "completed", "incomplete", "failed"


class ResponsesBuilder(ResponseBuilder):
    """The builder of a response of /v1/responses. Events without a stream are dropped.

    Args:
        described: the fields of the request that a response repeats.
        has_calls: whether the answer may call tools.
    """

    def __init__(self, described: Mapping[str, Any], *, has_calls: bool):
        self._response = {
            "id": new_id("resp"),
            "object": "response",
            "created_at": int(time.time()),
            "status": IN_PROGRESS,
            "error": None,
            "incomplete_details": None,
            "output": [],
            **described,
            "previous_response_id": None,
            "store": False,
            "truncation": "disabled",
            "usage": None,
        }
        self._parser = ToolCallParser() if has_calls else None
        self._output: list[dict[str, Any]] = self._response["output"]
        self._number = 0  # of the next event

    def first_events(self) -> bytes:
        names = ("response.created", "response.in_progress")
        return b"".join(self._event(name, response=self._response) for name in names)

    def events(self, piece: OutputChunk) -> bytes:
        events = b"".join(self._delta_events(delta) for delta in self._deltas(piece))
        if piece.finish_reason is None:
            return events
        if not self._output:
            events += self._start_text()
        is_cut = piece.finish_reason == "length"
        self._response["status"] = INCOMPLETE if is_cut else COMPLETED
        self._response["incomplete_details"] = {"reason": "max_output_tokens"} if is_cut else None
        return events + self._end_item(self._response["status"])

    def last_events(self, usages: Usages) -> bytes:
        self._response["usage"] = _usage([usage for _, usage in usages])
        return self._event(f"response.{self._response['status']}", response=self._response)

    def error_event(self, failure: Failure) -> bytes:
        error = error_object(failure)["error"]
        self._response["status"] = FAILED
        self._response["error"] = {"code": error["code"] or error["type"], "message": error["message"]}
        return self._event(f"response.{FAILED}", response=self._response)

    def response(self, pieces: Sequence[OutputChunk]) -> bytes:
        for piece in pieces:
            self.events(piece)
        self._response["usage"] = _usage([piece.usage for piece in pieces if piece.usage is not None])
        return to_json(self._response)

    def _deltas(self, piece: OutputChunk) -> list[Delta]:
        if self._parser is None:
            return [Delta(piece.text)] if piece.text else []
        return [*self._parser.add(piece.text), *(self._parser.end() if piece.finish_reason else [])]

    def _delta_events(self, delta: Delta) -> bytes:
        if delta.name:
            return self._end_item(COMPLETED) + self._start_call(delta.name)
        if delta.index is not None:
            self._output[-1]["arguments"] += delta.arguments
            return self._item_event("response.function_call_arguments.delta", delta=delta.arguments)
        events = b"" if self._output else self._start_text()
        self._output[-1]["content"][0]["text"] += delta.content
        return events + self._text_event("response.output_text.delta", delta=delta.content, logprobs=[])

    def _start_text(self) -> bytes:
        item = {"id": new_id("msg"), "type": "message", "status": IN_PROGRESS, "role": "assistant", "content": []}
        events = self._start_item(item)
        item["content"].append({"type": "output_text", "text": "", "annotations": [], "logprobs": []})
        return events + self._text_event("response.content_part.added", part=item["content"][0])

    def _start_call(self, name: str) -> bytes:
        ids = {"id": new_id("fc"), "type": "function_call", "status": IN_PROGRESS, "call_id": new_id("call")}
        return self._start_item({**ids, "name": name, "arguments": ""})

    def _start_item(self, item: dict[str, Any]) -> bytes:
        self._output.append(item)
        return self._event("response.output_item.added", output_index=len(self._output) - 1, item=item)

    def _end_item(self, status: str) -> bytes:
        """Return the events that end the last item, if there is an item."""
        if not self._output:
            return b""
        item = self._output[-1]
        item["status"] = status
        if item["type"] == "message":
            (part,) = item["content"]
            events = self._text_event("response.output_text.done", text=part["text"], logprobs=[])
            events += self._text_event("response.content_part.done", part=part)
        else:
            known = {"name": item["name"], "arguments": item["arguments"]}
            events = self._item_event("response.function_call_arguments.done", **known)
        return events + self._event("response.output_item.done", output_index=len(self._output) - 1, item=item)

    def _text_event(self, event: str, /, **values: Any) -> bytes:
        return self._item_event(event, content_index=0, **values)

    def _item_event(self, event: str, /, **values: Any) -> bytes:
        return self._event(event, item_id=self._output[-1]["id"], output_index=len(self._output) - 1, **values)

    def _event(self, event: str, /, **values: Any) -> bytes:
        self._number += 1
        return server_sent_event({"type": event, "sequence_number": self._number - 1, **values}, name=event)


def _usage(usages: Sequence[Usage]) -> dict[str, Any]:
    read, written = sum(usage.prompt for usage in usages), sum(usage.written for usage in usages)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": sum(usage.cached for usage in usages), "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
    }
