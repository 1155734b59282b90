"""Chat templates as programs in Jinja, which transformers and llama.cpp run."""

import json

from tfattn.formats.chat_template import ASSISTANT, CHAT_FORMATS, ChatTemplate


def chat_jinja(template: ChatTemplate) -> str:
    """Return the program of a chat template.

    Example:
        >>> chat_jinja(ChatTemplate())
        "{% for message in messages %}{% set content = message['content'] %}{% if message['role'] == 'system' %}..."
    """
    known = CHAT_FORMATS[template.format]
    is_trimmed = " | trim" * known.is_trimmed
    system = None if known.system is None else _around(known.system)
    opening = "opening.text + " * (system is None)
    repeated = ""
    if _repeats(template):  # before each user message but the first
        first = "(1 if messages[0]['role'] == 'system' else 0)"
        repeated = f"{{% if loop.index0 > {first} %}}{_text(template.start)}{{% endif %}}"
    before, after = map(_quoted, known.user)
    of_role = (
        f"{{% if message['role'] == 'system' %}}{system or _into_opening(known.system_in_user)}"
        f"{{% elif message['role'] == {_quoted(ASSISTANT)} %}}{_around(known.assistant)}"
        f"{{% else %}}{repeated}{{{{ {before} + {opening}content + {after} }}}}{_clear() if system is None else ''}"
        "{% endif %}"
    )
    program = (
        f"{{% for message in messages %}}{{% set content = message['content']{is_trimmed} %}}{of_role}{{% endfor %}}"
    )
    prompt = f"{{% if add_generation_prompt %}}{_text(known.assistant[0].rstrip(' '))}{{% endif %}}"
    start = _text(template.start) if template.start else ""
    return start + _default_system(template) + program + prompt


def _default_system(template: ChatTemplate) -> str:
    """Return the part before the messages: the variable of an opening, and the system message of chats without one."""
    known = CHAT_FORMATS[template.format]
    declared = "{% set opening = namespace(text='') %}" if known.system is None else ""
    if template.system is None:
        return declared
    message = template.system.strip() if known.is_trimmed else template.system
    if known.system is None:
        shown = f"{{% set opening.text = {_quoted(message.join(known.system_in_user))} %}}"
    else:
        shown = _text(message.join(known.system))
    return f"{declared}{{% if not messages or messages[0]['role'] != 'system' %}}{shown}{{% endif %}}"


def _repeats(template: ChatTemplate) -> bool:
    return bool(template.start) and CHAT_FORMATS[template.format].repeats_start


def _into_opening(texts: tuple[str, str]) -> str:
    before, after = map(_quoted, texts)
    return f"{{% set opening.text = {before} + content + {after} %}}"


def _clear() -> str:
    return "{% set opening.text = '' %}"


def _around(texts: tuple[str, str]) -> str:
    before, after = map(_quoted, texts)
    return f"{{{{ {before} + content + {after} }}}}"


def _text(text: str) -> str:
    return f"{{{{ {_quoted(text)} }}}}"


def _quoted(text: str) -> str:
    """Return a string literal of Jinja."""
    return json.dumps(text, ensure_ascii=False)
