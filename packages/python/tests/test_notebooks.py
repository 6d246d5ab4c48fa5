"""The notebooks run from top to bottom, and are kept without outputs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import SERVED

ROOT = Path(os.environ["PRIORBOOK_ROOT"])
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
SERVER = SERVED["past"]
# The package has types for a part of itself.
READ: Any = nbformat.read


# These need packages that do not fit the others: full mode installs them apart.
APART = {"hftbacktest": "PRIORBOOK_HFT_PYTHON"}


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem in APART], ids=lambda path: path.stem)
def test_notebooks_of_other_tools_run(path: Path) -> None:
    python = os.environ.get(APART[path.stem])
    if python is None:
        pytest.skip("needs packages that PRIORBOOK_FULL=1 installs")
    notebook = READ(path, as_version=4)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    env = {**os.environ, "PRIORBOOK_URL": SERVER["url"], "PRIORBOOK_KEY": SERVER["key"]}
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "position" in done.stdout


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem not in APART], ids=lambda path: path.stem)
def test_notebooks_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIORBOOK_URL", SERVER["url"])
    monkeypatch.setenv("PRIORBOOK_KEY", SERVER["key"])
    monkeypatch.setenv("PRIORBOOK_CLI", f"{os.environ['PRIORBOOK_NODE']} {ROOT / 'packages/sdk/bin/priorbook.mjs'}")
    notebook = READ(path, as_version=4)
    runner = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}})
    runner.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert outputs


def test_notebooks_are_kept_without_outputs() -> None:
    assert len(NOTEBOOKS) >= 8
    for path in NOTEBOOKS:
        notebook = READ(path, as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                assert (cell.outputs, cell.execution_count) == ([], None)
