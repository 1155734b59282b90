"""Commands: checks of arguments before TensorFlow is imported, and lines for masks."""

import subprocess
import sys

import pytest

from tfattn.errors import DataError, RefusedError
from tfattn.formats.training_file import TrainingFile
from tfattn.serving import commands

RUN = """
import sys
from tfattn import cli
sys.argv = ["tfattn", *sys.argv[1:]]
try:
    cli.main()
finally:
    print("tensorflow.python" in sys.modules)
"""


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["serve", "nowhere"], "there is nothing to serve"),
        (["serve", "--engine", "builtin", "--set", "host=0.0.0.0"], "host: anybody who can reach this address"),
        (["serve", "--set", "rest_prot=1"], "Did you mean `rest_port`"),
        (["predict", "http://127.0.0.1:1/reports"], "the server does not answer"),
        (["predict", "reports", "--output", "out.docx"], "unknown file format"),
    ],
)
def test_errors_are_reported_without_tensorflow(command, message, tmp_path):
    done = subprocess.run([sys.executable, "-c", RUN, *command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode and message in done.stderr
    assert done.stdout.strip() == "False"


class Filler:
    """Fills in two words, and refuses texts of more than twenty characters."""

    trained_on = TrainingFile({"text": "text"})
    numeric, writes_text = frozenset(), False

    def predict(self, rows, *, signature):
        assert signature == "all_masks"
        (row,) = rows
        if len(row["text"]) > 20:
            raise RefusedError(
                "no", received="assertion failed: [the text in row 1 has no [MASK] among its first 5 tokens]"
            )
        masks = row["text"].count("[MASK]")
        words = ["a", "b"]
        filled = [[row["text"].replace("[MASK]", word) for word in words] for _ in range(masks)]
        return [{"masks": masks, "score": [[0.75, 0.125]] * masks, "token_str": [words] * masks, "sequence": filled}]


def lines(text, top_k=5):
    return [" ".join(line.split()) for line in commands.mask_lines(Filler(), text, top_k=top_k)]


def test_a_line_for_each_token():
    assert lines("the [MASK]") == ["0.7500 a the a", "0.1250 b the b"]
    assert lines("the [MASK]", top_k=1) == ["0.7500 a the a"]


def test_each_mask_has_its_lines():
    assert lines("[MASK] [MASK]", top_k=1) == ["[MASK] 1 of 2", "0.7500 a a a", "[MASK] 2 of 2", "0.7500 a a a"]


def test_a_text_without_a_mask_is_refused():
    with pytest.raises(DataError, match=r"the text has no \[MASK\]: expected \[MASK\] in capitals"):
        commands.check_mask("the [mask]")
    commands.check_mask("the [MASK]")


def test_a_refusal_has_the_message_of_the_model():
    with pytest.raises(DataError, match=r"has no \[MASK\] among its first 5 tokens$"):
        lines("a text that is so long that [MASK] is not read")
