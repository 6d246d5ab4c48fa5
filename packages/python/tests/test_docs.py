"""The examples of the docs, run one by one against a live server, and their list of errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import SERVED
from priorbook import CLIENT_ERRORS

ROOT = Path(os.environ["PRIORBOOK_ROOT"])
GUIDE = (ROOT / "docs/guide/python.md").read_text()
SERVER = SERVED["live"]


def blocks(text: str) -> list[str]:
    """The Python examples of a page."""
    return re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)


README = [code for path in ("README.md", "packages/python/README.md") for code in blocks((ROOT / path).read_text())]
EXAMPLES = blocks(GUIDE) + [code.replace("http://127.0.0.1:8780", SERVER["url"]) for code in README]


QUARTER = 900.0


@pytest.fixture(autouse=True)
def time_until_the_close() -> None:
    """Rounds close every quarter of an hour; the new ones have books some seconds after they open."""
    left = QUARTER - time.time() % QUARTER
    if left < 60:
        time.sleep(left + 10)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_run(number: int, tmp_path: Path) -> None:
    engine = f"{os.environ['PRIORBOOK_NODE']} {ROOT / 'packages/sdk/bin/priorbook.mjs'}"
    env = {**os.environ, "PRIORBOOK_URL": SERVER["url"], "PRIORBOOK_KEY": SERVER["key"], "PRIORBOOK_CLI": engine}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", EXAMPLES[number]],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() != ""


SNIPPET = """
const { toPython } = await import(process.argv[1])
const urls = JSON.parse(process.argv[2])
console.log(JSON.stringify(urls.map((url) => toPython({ url, code: '' }))))
"""


def test_programs_of_the_explorer_and_the_docs_page_run() -> None:
    paths = ["/v3/whoami", "/v3/markets?limit=1&q=btc%20up", "/v3/demo/gaps?limit=1", "/v3/markets?format=csv&limit=2"]
    module = (ROOT / "packages/web/src/model/snippet.ts").as_uri()
    urls = json.dumps([SERVER["url"] + path for path in paths])
    made = subprocess.run(
        [os.environ["PRIORBOOK_NODE"], "--input-type=module", "-e", SNIPPET, module, urls],
        capture_output=True,
        text=True,
        check=True,
    )
    for path, program in zip(paths, json.loads(made.stdout), strict=True):
        needs_key = "demo" not in path
        env = {**os.environ, **({"PRIORBOOK_KEY": SERVER["key"]} if needs_key else {})}
        done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, env=env)
        assert (done.returncode, done.stderr) == (0, ""), program
        assert done.stdout.startswith("venue" if "csv" in path else '{"data":')


def test_there_are_examples_of_every_part() -> None:
    assert len(EXAMPLES) >= 10 and len(README) == 2
    titles = re.findall(r"^## (.+)$", GUIDE, re.M)
    assert {"DataFrames", "Live", "Files and replay", "Backtests", "Errors"} <= set(titles)


def test_the_docs_list_every_error() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", GUIDE, re.M))
    for code, meaning in CLIENT_ERRORS.items():
        assert table.get(code) == meaning
