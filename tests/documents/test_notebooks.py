"""The notebooks run from start to end, and contain no outputs."""

import pytest

from tests.documents.blocks import PROJECT

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
NOTEBOOKS = sorted((PROJECT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    from jupyter_client.kernelspec import NoSuchKernel, get_kernel_spec

    try:
        get_kernel_spec("python3")
    except NoSuchKernel:
        pytest.skip("needs the kernel `python3`: pip install ipykernel")
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "clear the outputs"
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any(output.output_type == "execute_result" for output in outputs)
