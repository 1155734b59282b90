"""SavedModels of other programs load; models that have side effects or files outside their folder are refused."""

import contextlib
import os
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.saved_model.loader_impl import parse_saved_model

from tfattn.errors import SavedModelError, ServingError
from tfattn.serving.api.tensors import strings
from tfattn.serving.engine.saved_model import SavedModel

TEXT = [tf.TensorSpec([None], tf.string, name="text")]


@pytest.fixture
def folder(models, tmp_path):
    return shutil.copytree(models / "reports/9", tmp_path / "9")


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("[UNK]\nred\ngreen\n##ish\n")
    return path


def answers(folder, *texts, **options):
    outputs = SavedModel(folder, **options).run("serving_default", {"text": strings([one.encode() for one in texts])})
    return next(iter(outputs.values())).tolist()


def keras_export(folder, words):
    """Export a string lookup and a text vectorization with vocabularies, and weights."""
    text = keras.Input([], dtype="string", name="text")
    known = keras.layers.StringLookup(vocabulary=["red", "green"])(text)
    vectors = keras.layers.TextVectorization(vocabulary=str(words), output_sequence_length=2)(text)
    both = keras.layers.Concatenate()([keras.ops.expand_dims(known, -1), vectors])
    table = keras.layers.Embedding(9, 1, embeddings_initializer=lambda shape, dtype: np.arange(9)[:, None])
    model = keras.Model(text, keras.ops.sum(table(both), axis=(1, 2)))
    model.export(str(folder), verbose=False)
    # `red` has index 1 in the lookup and 2 or 3 in the vectorization, which reserves padding and unknown tokens
    return sum(model(tf.constant(["red"])).numpy().tolist())


def tokenizer(folder, words):
    """Save a table that is read from an asset, and an operation of tensorflow-text."""
    module = tf.Module()
    module.tokenizer = tensorflow_text.BertTokenizer(str(words), unknown_token="[UNK]")
    module.counted = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)

    def answer(text):
        ids = module.tokenizer.tokenize(text).merge_dims(1, -1)
        return {"sum": tf.cast(tf.reduce_sum(ids, axis=1) + module.counted.lookup(text), tf.float32)}

    tf.saved_model.save(module, str(folder), signatures=tf.function(answer, input_signature=TEXT, autograph=False))
    return 1.0


def session(folder, words):
    """Save a TensorFlow 1 model: a variable, a table from an asset, an initializer in a collection."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as running:
        text = tf.compat.v1.placeholder(tf.string, [None], "text")
        path = tf.compat.v1.constant(str(words))
        tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.ASSET_FILEPATHS, path)
        index = tf.lookup.TextFileIndex
        lines = tf.lookup.TextFileInitializer(path, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
        weight = tf.compat.v1.get_variable("weight", initializer=4.0)
        found = tf.cast(tf.lookup.StaticHashTable(lines, -1).lookup(text), tf.float32) * weight
        running.run([tf.compat.v1.global_variables_initializer(), tf.compat.v1.tables_initializer()])
        builder = tf.compat.v1.saved_model.Builder(str(folder))
        signature = tf.compat.v1.saved_model.predict_signature_def({"text": text}, {"found": found})
        builder.add_meta_graph_and_variables(
            running,
            [tf.saved_model.SERVING],
            signature_def_map={"serving_default": signature},
            assets_collection=tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.compat.v1.tables_initializer(),
        )
        builder.save()
    return 4.0


@pytest.mark.parametrize("made", [keras_export, tokenizer, session])
def test_foreign_saved_models_load_and_find_their_assets(made, tmp_path, words):
    expected = made(tmp_path / "made", words)
    words.unlink()
    moved = shutil.move(tmp_path / "made", tmp_path / "moved")
    assert answers(moved, "red") == [expected]


class Leak(tf.Module):
    """A model that returns the content of the files named by its input."""

    @tf.function(input_signature=TEXT, autograph=False)
    def answer(self, text):
        return {"content": tf.map_fn(tf.io.read_file, text)}


@pytest.fixture
def leak(tmp_path):
    module = Leak()
    tf.saved_model.save(module, str(tmp_path / "leak/1"), signatures=module.answer)
    return tmp_path / "leak/1"


def test_operations_that_read_files_are_refused_unless_allowed(leak, tmp_path):
    with pytest.raises(SavedModelError) as caught:
        SavedModel(leak)
    assert str(caught.value).startswith(f"{leak}: ") and "ReadFile, which reads files" in str(caught.value)
    assert "--set allow_operations=[ReadFile]" in caught.value.remedy
    with pytest.raises(SavedModelError):
        SavedModel(leak, allow_operations=["WriteFile"])
    (tmp_path / "secret").write_text("secret")
    assert answers(leak, str(tmp_path / "secret"), allow_operations=["ReadFile"]) == [b"secret"]


@pytest.mark.parametrize(("tag_of_the_leak", "is_refused"), [("serve", True), ("train", False)])
def test_the_loaded_graph_of_several_is_checked(tag_of_the_leak, is_refused, leak, folder):
    harmless, leaking = parse_saved_model(str(folder)), parse_saved_model(str(leak))
    harmless.meta_graphs[0].meta_info_def.tags[:] = ["train" if is_refused else "serve"]
    harmless.meta_graphs.add().CopyFrom(leaking.meta_graphs[0])
    harmless.meta_graphs[1].meta_info_def.tags[:] = [tag_of_the_leak]
    (folder / "saved_model.pb").write_bytes(harmless.SerializeToString())
    with pytest.raises(SavedModelError, match="ReadFile") if is_refused else contextlib.nullcontext():
        SavedModel(folder)


def test_predict_has_an_option_to_allow_operations(leak, tmp_path, command):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "new.txt").write_text(f"{tmp_path}/secret\n")
    refused = command("predict", leak, "--input", tmp_path / "new.txt")
    assert refused.status == 1 and "needs the operation ReadFile" in refused.errors
    allowed = command("predict", leak, "--input", tmp_path / "new.txt", "--allow-operation", "ReadFile")
    assert allowed.status == 0 and '"content": "secret"' in allowed.output


@pytest.mark.parametrize("name", ["../../secret", "/etc/hostname", "link"])
def test_assets_stay_in_the_folder(folder, name):
    (folder.parent / "secret").write_text("secret")
    if name == "link":
        (folder / "assets/link").symlink_to(folder.parent / "secret")
    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    saved.meta_graphs[0].asset_file_def.add(filename=name).tensor_info.name = "more:0"
    path.write_bytes(saved.SerializeToString())
    with pytest.raises(SavedModelError, match="the path leads out of the version's folder: .*received /"):
        SavedModel(folder)


def test_links_are_followed_only_within_the_folder(folder):
    shutil.move(folder / "variables", folder / "..data")
    (folder / "variables").symlink_to("..data")
    assert SavedModel(folder).signatures
    shutil.move(folder / "..data", folder.parent / "elsewhere")
    (folder / "variables").unlink()
    (folder / "variables").symlink_to("../elsewhere")
    with pytest.raises(SavedModelError, match="variables: the path leads out of the version's folder"):
        SavedModel(folder)


def test_the_folder_may_be_a_link_itself(folder):
    (folder.parent / "current").symlink_to(folder)
    assert SavedModel(folder.parent / "current").signatures


def test_a_named_pipe_is_refused(folder):
    os.mkfifo(folder / "assets/labels.pipe")
    with pytest.raises(SavedModelError, match="labels.pipe: not a file"):
        SavedModel(folder)


def test_a_dangling_link_is_ignored(folder):
    (folder / "assets/gone").symlink_to("nothing")
    assert SavedModel(folder).signatures


def test_a_file_above_the_size_limit_is_not_read(folder):
    os.truncate(folder / "saved_model.pb", 2**31)
    with pytest.raises(ServingError, match="larger than 2 GiB"):
        SavedModel(folder)
