"""A summary of prepared data in words: what is worth a look, for the console and the report."""

from typing import Any

MAX_UNKNOWN = 0.05  # of all tokens, or values; more is said
TEXTS, COLUMNS, IMAGES = "texts", "columns", "images"  # what rows are made of
_WORDS = {
    TEXTS: {
        "crossing": "{split} text that is also a training row's",
        "conflicts": "same text, different labels",
        "duplicates": "text that repeats an earlier row's",
        "nothing": "No value is missing, no text occurs twice, and none is longer than the limit.",
        "unknown": "tokens",
    },
    COLUMNS: {
        "crossing": "{split} row that is also a training row",
        "conflicts": "same values, different labels",
        "duplicates": "row that repeats an earlier row",
        "nothing": "No row lacks its label, and none occurs twice.",
        "unknown": "values",
    },
    IMAGES: {
        "crossing": "{split} image that is also a training image",
        "conflicts": "same image, different labels",
        "duplicates": "image that is the same as an earlier one",
        "no": "left out: no {role} that can be read",
        "nothing": "Every image can be read, and none occurs twice.",
        "unknown": "values",
    },
}


def findings(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Say in words what was found that concerns some rows; what matters most comes first."""
    words = _WORDS[summary["made_of"]]
    found = {
        # Such rows were not really unseen.
        **{words["crossing"].format(split=split): finding for split, finding in summary["crossing"].items()},
        words["conflicts"]: summary["conflicts"],
        words["duplicates"]: summary["duplicates"],
        **{f"{split} text cut at the limit": finding for split, finding in summary["truncated"].items()},
        "left out: too long to be trained on": summary["left_out"],
        **{words.get("no", "left out: no {role}").format(role=role): one for role, one in summary["missing"].items()},
        **summary.get("remarks", {}),
    }
    return {what: finding for what, finding in found.items() if finding["rows"]}


def sentences(summary: dict[str, Any]) -> list[str]:
    """Say what else is to be said of the data: what is unknown, or that nothing was found."""
    words = _WORDS[summary["made_of"]]
    said = [] if findings(summary) else [words["nothing"]]
    for name, splits in summary["unknown"].items():
        worst = max(splits.values(), key=lambda one: one["fraction"])
        if worst["fraction"] > MAX_UNKNOWN:
            fractions = ", ".join(f"{one['fraction']:.1%} in {split}" for split, one in splits.items())
            said.append(
                f"Unknown {words['unknown']} of `{name}`: {fractions}; most frequently "
                f"{', '.join(worst['most_frequent'])}. What they say is lost on the model. {summary['unknown_remedy']}"
            )
    return said
