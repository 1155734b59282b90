"""Chats in the formats that people have (messages, ShareGPT, Alpaca, prompt and answer), and pairs of chats."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tfattn.errors import ConfigError, DataError, listed
from tfattn.features import ANSWER, CHOSEN, INPUT, INSTRUCTION, MESSAGES, OUTPUT, PROMPT, REJECTED
from tfattn.formats.chat_template import ASSISTANT, Message, Role

# The roles of a row in each format. `input` may be empty.
CHAT_ROLES: dict[str, tuple[str, ...]] = {
    "messages": (MESSAGES,),
    "Alpaca": (INSTRUCTION, INPUT, OUTPUT),
    "pairs": (PROMPT, ANSWER),
}
ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "human": "user",
    "assistant": ASSISTANT,
    "gpt": ASSISTANT,
}
# The keys of a message: of OpenAI, and of ShareGPT.
KEYS = (("role", "content"), ("from", "value"))
CHAT_HINT = (
    "A chat is `messages`, a list of objects with `role` and `content`, or with `from` and `value` (ShareGPT); "
    "`instruction`, `input` and `output` (Alpaca); or a `prompt` and an `answer`."
)

PREFERENCE_HINT = (
    "A row is a `prompt`, its `chosen` and its `rejected` answer; or `chosen` and `rejected` alone, two whole chats in "
    "lists of messages."
)


def chat_roles(given: Iterable[str]) -> tuple[str, ...]:
    """Return the roles of a chat among the roles of a source: the format of the rows.

    Args:
        given: the roles for which a source has columns.

    Raises:
        ConfigError: no format has these roles, or several formats have.

    Example:
        >>> chat_roles(["id", "prompt", "answer"])
        ('prompt', 'answer')
    """
    given = set(given)
    found = [roles for roles in CHAT_ROLES.values() if given.issuperset({*roles} - {INPUT})]
    if len(found) != 1:
        raise ConfigError(
            "the format of the chats is unclear",
            key="source.fields",
            expected="columns of the roles of a single format",
            received=listed(sorted(given)) or "nothing",
            remedy=CHAT_HINT,
        )
    return tuple(role for role in found[0] if role in given)


def chat_of(fields: Mapping[str, Any], where: str) -> list[Message]:
    """Read the messages of a row; of a preference those of the chosen chat.

    Args:
        fields: the values of the roles of one format.
        where: file and line, for messages.

    Raises:
        DataError: the value of `messages` is no chat, or a message has an unknown role; names file and line.

    Example:
        >>> chat_of({"instruction": "Add.", "input": "1, 2", "output": "3"}, "a.jsonl:1")[0]
        Message(role='user', content='Add.\\n\\n1, 2')
    """
    if CHOSEN in fields:
        return preference_of(fields, where)[0]
    if MESSAGES in fields:
        return read_messages(fields[MESSAGES], where)
    if INSTRUCTION in fields:
        asked = [fields[INSTRUCTION], fields.get(INPUT) or ""]
        question = "\n\n".join(text for text in asked if text.strip())
        return [Message("user", question), Message(ASSISTANT, fields[OUTPUT])]
    return [Message("user", fields[PROMPT]), Message(ASSISTANT, fields[ANSWER])]


def preference_of(fields: Mapping[str, Any], where: str) -> tuple[list[Message], list[Message]]:
    """Read the chosen and the rejected chat of a row.

    Args:
        fields: `chosen` and `rejected`, and optionally the `prompt` before both; a text, or a list of messages each.
        where: file and line, for messages.

    Raises:
        DataError: a chat has no answer at its end; or as `chat_of`.

    Example:
        >>> chosen, rejected = preference_of({"prompt": "1+1?", "chosen": "2", "rejected": "3"}, "a.jsonl:1")
        >>> rejected[-1]
        Message(role='assistant', content='3')
    """
    prompt = _turns(fields, PROMPT, "user", where) if PROMPT in fields else []
    chats = [[*prompt, *_turns(fields, role, ASSISTANT, where)] for role in (CHOSEN, REJECTED)]
    for role, chat in zip((CHOSEN, REJECTED), chats, strict=True):
        if len(chat) < 2 or chat[-1].role != ASSISTANT:
            raise DataError(
                f"`{role}` has no answer to a prompt",
                where=where,
                expected="a chat that ends with a message of the assistant",
                received=f"a chat of the roles {listed([message.role for message in chat])}",
                remedy=PREFERENCE_HINT,
            )
    return chats[0], chats[1]


def _turns(fields: Mapping[str, Any], key: str, role: Role, where: str) -> list[Message]:
    value = fields[key]
    return [Message(role, value)] if isinstance(value, str) else read_messages(value, where, key)


def read_messages(value: Any, where: str, key: str = MESSAGES) -> list[Message]:
    """Read a list of messages; raises as `chat_of`."""
    is_list = isinstance(value, list) and bool(value)
    wrong = next((message for message in value if keys_of_message(message) is None), None) if is_list else value
    if wrong is not None:
        raise DataError(
            f"the value of `{key}` is no chat",
            where=where,
            expected='a list such as [{"role": "user", "content": "Hi"}]',
            received=json.dumps(wrong, ensure_ascii=False)[:60],
        )
    return [_message(entry, where) for entry in value]


def keys_of_message(entry: Any) -> tuple[str, str] | None:
    """Return the keys of the role and the text of a message; None if it is no message."""
    if not isinstance(entry, dict):
        return None
    return next((keys for keys in KEYS if all(isinstance(entry.get(key), str) for key in keys)), None)


def _message(entry: dict[str, Any], where: str) -> Message:
    role, content = (entry[key] for key in keys_of_message(entry))
    if role not in ROLES:
        raise DataError(
            "a message has an unknown role",
            where=where,
            expected=listed(ROLES),
            received=repr(role),
            remedy="Remove the chat, or write the message as text of the user or the assistant.",
        )
    return Message(ROLES[role], content)
