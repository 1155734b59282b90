"""`tfattn create-pretraining-data`: files for the programs of google-research/bert."""

import numpy as np
import pytest
import tensorflow as tf

from tests.data.small_documents import write
from tfattn.data.preparation import create_pretraining_data

LENGTH, PREDICTIONS = 24, 4
# As run_pretraining.py of google-research/bert parses them (input_fn_builder).
GOOGLE = {
    "input_ids": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "input_mask": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "segment_ids": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "masked_lm_positions": tf.io.FixedLenFeature([PREDICTIONS], tf.int64),
    "masked_lm_ids": tf.io.FixedLenFeature([PREDICTIONS], tf.int64),
    "masked_lm_weights": tf.io.FixedLenFeature([PREDICTIONS], tf.float32),
    "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
}
FLAGS = {
    "input_file": "te*.txt",
    "output_file": "a.tfrecord,b.tfrecord",
    "vocab_file": "vocab.txt",
    "max_seq_length": LENGTH,
    "max_predictions_per_seq": PREDICTIONS,
    "dupe_factor": 3,
    "random_seed": 5,
}


@pytest.fixture
def create(tmp_path, monkeypatch, command):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)

    def create(**changes):
        return command("create-pretraining-data", *(f"--{name}={value}" for name, value in (FLAGS | changes).items()))

    return create


def examples(*paths):
    return [tf.io.parse_single_example(record, GOOGLE) for path in paths for record in tf.data.TFRecordDataset(path)]


def test_files_have_the_features_of_google_research_bert(create):
    answer = create(do_lower_case="False", do_whole_word_mask="True")
    assert answer.status == 0, answer.errors
    parts = [examples(name) for name in ("a.tfrecord", "b.tfrecord")]
    assert abs(len(parts[0]) - len(parts[1])) <= 1
    assert f"{len(parts[0]) + len(parts[1])} examples: a.tfrecord,b.tfrecord" in answer.output
    for one in parts[0]:
        real, weights = one["input_mask"].numpy(), one["masked_lm_weights"].numpy()
        length = real.sum()
        assert (np.diff(real) <= 0).all() and (one["input_ids"].numpy() > 0).sum() == length
        assert one["segment_ids"].numpy()[length:].sum() == 0
        assert weights.sum() == min(PREDICTIONS, max(1, round(0.15 * length)))
        assert not one["masked_lm_ids"].numpy()[weights == 0].any()


@pytest.mark.parametrize(
    ("flags", "folds", "hides_words"),
    [
        ([], True, False),
        (["--do_lower_case", "--do_whole_word_mask"], True, True),
        (["--nodo_lower_case", "--nodo_whole_word_mask"], False, False),
        (["--do_lower_case=False", "--do_whole_word_mask=T"], False, True),
        (["--do_lower_case", "false", "--do_whole_word_mask", "true"], False, True),
        (["--do_lower_case=0", "--nodo_lower_case", "--do_lower_case=1"], True, False),
    ],
)
def test_flags_are_those_of_absl(monkeypatch, command, flags, folds, hides_words):
    given = {}
    monkeypatch.setattr(
        create_pretraining_data, "create_pretraining_data", lambda **options: given.update(options) or 0
    )
    required = [f"--{name}={FLAGS[name]}" for name in ("input_file", "output_file", "vocab_file")]
    answer = command("create-pretraining-data", *required, *flags)
    assert answer.status == 0, answer.errors
    assert (given["lower_case"], given["do_whole_word_mask"]) == (folds, hides_words)


def test_records_differ_only_by_the_seed(create, tmp_path):
    for name, seed in (("one", 5), ("same", 5), ("other", 6)):
        assert create(output_file=f"{name}.tfrecord", random_seed=seed).status == 0
    one, same, other = ((tmp_path / f"{name}.tfrecord").read_bytes() for name in ("one", "same", "other"))
    assert one == same != other
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"input_file": "none*.txt"}, "error: none*.txt: no file matches"),
        ({"input_file": "none.txt"}, "error: none.txt: cannot read the file"),
        ({"input_file": "empty.txt"}, "error: empty.txt: the file is empty"),
        ({"input_file": "blank.txt"}, "error: blank.txt: the file holds no rows"),
        ({"vocab_file": "maskless.txt"}, "error: data.preprocessing.vocabulary: the vocabulary has no mask"),
        ({"max_predictions_per_seq": 0}, "Invalid value for '--max_predictions_per_seq'"),
        ({"do_lower_case": "maybe"}, "--do_lower_case: expected true or false, received maybe"),
    ],
)
def test_errors_are_a_single_message(create, tmp_path, changes, message):
    (tmp_path / "empty.txt").touch()
    (tmp_path / "blank.txt").write_text("\n\n \n")
    (tmp_path / "maskless.txt").write_text((tmp_path / "vocab.txt").read_text().replace("[MASK]\n", ""))
    answer = create(**changes)
    assert answer.status != 0 and message in answer.errors, answer.errors
    assert "Traceback" not in answer.errors and not (tmp_path / "a.tfrecord").exists()
