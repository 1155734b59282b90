"""An export runs without Python, with the loader of TensorFlow model servers."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text
from tensorflow.core.protobuf import saved_model_pb2

SOURCE = Path(__file__).with_name("run_saved_model.c")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler (gcc)")
    package = Path(tf.__file__).parent
    libraries = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"]
    if not all((package / name).exists() for name in libraries):
        pytest.skip("needs the C libraries that TensorFlow's Linux wheels contain")
    program = tmp_path_factory.mktemp("c") / "run_saved_model"
    linked = [f"-L{package}", f"-Wl,-rpath,{package}", *(f"-l:{name}" for name in libraries)]
    command = [
        compiler,
        "-O1",
        "-Wall",
        "-Werror",
        str(SOURCE),
        "-o",
        str(program),
        f"-I{package / 'include'}",
        *linked,
    ]
    subprocess.run(command, check=True)
    return program


@pytest.mark.parametrize("text", ["sorter blows fuses", "", "très fort"])
def test_c_predictions_equal_python(program, exported, loaded, text):
    saved = saved_model_pb2.SavedModel.FromString((exported / "saved_model.pb").read_bytes())
    signature = saved.meta_graphs[0].signature_def["serving_default"]
    names = [signature.inputs["text"].name, signature.outputs["label"].name, signature.outputs["scores"].name]
    libraries = sorted(map(str, (Path(tensorflow_text.__file__).parent / "python/ops").glob("_*.so")))
    command = [str(program), str(exported), *names, text, *libraries]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    label, *scores = ended.stdout.splitlines()
    answer = loaded.signatures["serving_default"](text=tf.constant([text]))
    assert label == answer["label"][0].numpy().decode()
    np.testing.assert_allclose([float(score) for score in scores], answer["scores"][0], atol=1e-6)
