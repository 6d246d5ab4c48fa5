"""The notebooks run from top to bottom, and are kept without outputs."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
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
    assert len(NOTEBOOKS) >= 7
    for path in NOTEBOOKS:
        notebook = READ(path, as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                assert (cell.outputs, cell.execution_count) == ([], None)
