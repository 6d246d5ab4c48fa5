"""What users install: the wheel, with types, alone in a clean environment."""

from __future__ import annotations

import subprocess
import sys
import venv
from importlib.metadata import files, version
from pathlib import Path

import priorbook


def test_tests_read_the_installed_wheel() -> None:
    assert "site-packages" in priorbook.__file__
    assert version("priorbook") == priorbook.__version__
    names = {str(file) for file in files("priorbook") or []}
    assert {"priorbook/py.typed", "priorbook/_bridge.mjs"} <= names
    assert not any(name.startswith("tests") for name in names)


def test_runs_without_polars_pandas_and_tqdm(tmp_path: Path) -> None:
    """Optional packages are imported when they are needed, never before."""
    program = (
        "import sys; "
        "sys.modules.update(dict.fromkeys(('polars', 'pandas', 'tqdm', 'tqdm.auto'))); "
        "import priorbook; print(priorbook.OrderBook('venueb').mid)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"


def test_installs_into_a_clean_environment(tmp_path: Path) -> None:
    venv.create(tmp_path / "clean", with_pip=False)
    python = tmp_path / "clean/bin/python"
    site = next((tmp_path / "clean/lib").glob("python3*")) / "site-packages"
    wheel = subprocess.run(
        [sys.executable, "-c", "import sys, hatchling.build as b; print(b.build_wheel(sys.argv[1]))", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent,
    ).stdout.split()[-1]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", str(tmp_path / wheel)]
    subprocess.run(pip, check=True)
    assert (site / "priorbook/py.typed").exists()
    # Without its dependencies it names the first that is missing.
    done = subprocess.run([str(python), "-c", "import priorbook"], capture_output=True, text=True, check=False)
    assert "No module named" in done.stderr
