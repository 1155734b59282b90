"""The notebooks run from start to end, and contain no outputs."""

import pytest

from tests.documents.blocks import PROJECT

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
NOTEBOOKS = sorted((PROJECT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def kernel():
    """The kernel of all notebooks, which loads TensorFlow once."""
    from jupyter_client.kernelspec import NoSuchKernel, get_kernel_spec
    from jupyter_client.manager import AsyncKernelManager
    from jupyter_core.utils import run_sync

    try:
        get_kernel_spec("python3")
    except NoSuchKernel:
        pytest.skip("needs the kernel `python3`: pip install ipykernel")
    manager = AsyncKernelManager(kernel_name="python3")
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, kernel, tmp_path, monkeypatch):
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "clear the outputs"
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    # Nothing of another notebook is left: its names are deleted, and its folder is another one.
    notebook.cells.insert(0, nbformat.v4.new_code_cell(f"%reset -f\n%cd -q {tmp_path}"))
    client = nbclient.NotebookClient(notebook, km=kernel, timeout=300)
    client.execute()
    client.kc.stop_channels()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any(output.output_type == "execute_result" for output in outputs)
