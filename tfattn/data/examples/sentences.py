"""Sentence splitting by punctuation: after a full stop and a space, or after a Chinese full stop."""

import re

# A sentence always ends after these.
_FULL = re.compile(r"[。！？｡]+[”’」』）】》\"']*")
# A sentence ends after these before a space, unless a lowercase letter follows.
_STOP = re.compile(r"(?<![.!?…؟।])[.!?…؟।]++[\"'”’»)\]]*(\s+)[\"'“‘«(\[¿¡]*(?=(\S))")
_LAST_WORD = re.compile(r"(\S+?)\.+[\"'”’»)\]]*$")
_ABBREVIATIONS = frozenset(
    [
        "adm",
        "al",
        "approx",
        "apr",
        "assn",
        "aug",
        "ave",
        "bros",
        "ca",
        "capt",
        "cf",
        "ch",
        "co",
        "col",
        "corp",
        "dec",
        "dept",
        "dr",
        "ed",
        "eds",
        "esp",
        "est",
        "etc",
        "feb",
        "fig",
        "figs",
        "fl",
        "gen",
        "gov",
        "hon",
        "inc",
        "jan",
        "jr",
        "lt",
        "ltd",
        "maj",
        "mar",
        "messrs",
        "mr",
        "mrs",
        "ms",
        "mt",
        "nos",
        "nov",
        "oct",
        "op",
        "p",
        "pp",
        "prof",
        "pt",
        "rep",
        "rev",
        "sen",
        "sept",
        "sgt",
        "sr",
        "st",
        "vol",
        "vols",
        "vs",
        "viz",
    ]
)


def sentences_of(text: str) -> list[str]:
    """Split running text into sentences.

    A full stop after an initial (J.), a word with inner full stops (U.S.) or a common abbreviation (Dr.) does not end a
    sentence.

    Args:
        text: one paragraph.

    Returns:
        the sentences, stripped and not empty.

    Example:
        >>> sentences_of("Dr. Smith came. He left.")
        ['Dr. Smith came.', 'He left.']
        >>> sentences_of("他来了。他走了。")
        ['他来了。', '他走了。']
    """
    ends = [found.end() for found in _FULL.finditer(text)]
    ends += [found.start(1) for found in _STOP.finditer(text) if _ends(text, found)]
    starts = [0, *sorted(set(ends))]
    found = (text[begin:end].strip() for begin, end in zip(starts, [*starts[1:], len(text)], strict=True))
    return [sentence for sentence in found if sentence]


def _ends(text: str, found: re.Match) -> bool:
    if found[2].islower():
        return False
    begin = max(text.rfind(" ", 0, found.start(1)) + 1, found.start() - 40)
    word = _LAST_WORD.match(text, begin, found.start(1))
    if word is None:
        return True
    bare = word[1].strip("\"'“‘«([.").lower()
    return not (bare in _ABBREVIATIONS or "." in bare or (len(bare) == 1 and bare.isalpha() and bare != "i"))
