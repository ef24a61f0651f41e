"""Every example of the documentation runs, and prints what the page says it does."""

from __future__ import annotations

import ast
import contextlib
import http.client
import io
import json
import math
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import minimaxrisk
from minimaxrisk import permutation_test
from minimaxrisk.app.cli import main
from minimaxrisk.datasets import make_expression

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```(python|console|text)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
# This one changes the source; a test of its own walks through it.
RADIUS_RULE = DOCS / "develop" / "radius_rule.md"


def blocks(page):
    return FENCE.findall(page.read_text(encoding="utf-8"))


def comparable(text):
    """Before 1.8 scikit-learn drew other folds of groups, so that digits differ."""
    is_older = parse_version(sklearn.__version__) < parse_version("1.8")
    return re.sub(r"\d+", "0", text) if is_older else text


def walk(page, names):
    """What a reader does: one block after the other, in one folder."""
    printed = io.StringIO()
    for language, code in blocks(page):
        if language == "text":
            assert comparable(printed.getvalue()) == comparable(code)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            if language == "python":
                exec(compile(code, page.name, "exec"), names)
            else:
                for command in code.splitlines():
                    program, *arguments = shlex.split(command, comments=True)
                    assert program == "minimaxrisk"
                    assert main(arguments) == 0, command


PAGES = [page for folder in ("learn", "how_to", "develop") for page in sorted((DOCS / folder).glob("*.md"))]
WALKED = [DOCS / "index.md", *(page for page in PAGES if blocks(page) and page != RADIUS_RULE)]


@pytest.mark.parametrize("page", WALKED, ids=lambda page: page.stem)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    for package in ("anndata", "jinja2", "pandas", "skops", "vl_convert"):
        pytest.importorskip(package, reason="comes with the extra 'app' or the group 'test'")
    monkeypatch.chdir(tmp_path)
    walk(page, {"__name__": "page"})


def changed(text, diff):
    """A file after a change that is written as lines with a space, a minus or a plus in front."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, f"the page changes lines that are not there:\n{before}"
    return text.replace(before, after)


def test_the_page_about_radius_rules_adds_one(tmp_path):
    """Done to a copy of the source as the page says, with its test run there."""
    shutil.copytree(
        ROOT / "src", tmp_path / "src"
    )  # with bytecode, which saves compiling what is not changed
    path = None
    for name, language, code in re.findall(
        r"^`([\w./]+)`:$|^```(python|diff)\n(.*?)^```",
        RADIUS_RULE.read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    ):
        if name:
            path = tmp_path / name
        elif language == "diff":
            path.write_text(changed(path.read_text(encoding="utf-8"), code), encoding="utf-8")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/core/test_sidak.py"]
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def examples(name):
    return [code for language, code in blocks(DOCS / name) if language == "python"]


@pytest.mark.parametrize("has_imputer", [False, True])
def test_the_page_about_production_answers_requests(has_imputer, tmp_path, monkeypatch):
    pytest.importorskip("skops", reason="comes with the extra 'app'")
    monkeypatch.chdir(tmp_path)
    saving, in_parts, service, *_ = examples("how_to/production.md")
    assert len([line for line in service.splitlines() if line]) <= 34
    assert "timeout = 10 " in service
    names = {}
    exec(saving, names)
    if has_imputer:
        exec(in_parts, names)
        service = service.replace("model.skops", "filled.skops")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    service = service.replace("8000", address.rpartition(":")[2]).replace("timeout = 10 ", "timeout = 1 ")
    Path("service.py").write_text(service, encoding="utf-8")

    def ask(samples):
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("POST", "/", samples if isinstance(samples, str) else json.dumps(samples))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def begin(length):
        """What the service answers to a request that ends before this length."""
        with socket.create_connection(address.split(":"), timeout=60) as connection:
            connection.sendall(f"POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n[".encode())
            return connection.recv(1000).decode()

    model, X, columns = names["model"], names["X"][:6], names["names"]
    samples = [dict(zip(columns, row, strict=True)) for row in X.tolist()]
    process = subprocess.Popen([sys.executable, "service.py"], stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            with contextlib.suppress(ConnectionRefusedError):
                assert ask(samples) == (200, {"labels": model.predict(X).tolist()})
                break
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.1)
        else:
            pytest.fail("the service does not answer")
        where = f"sample 1, column '{columns[2]}': send a number below 1e+150,"
        odd = {"1000": 10**400, "'1.5'": "1.5", "True": True, "list": [1.0], "dict": {}, "nan": math.nan}
        odd |= {"inf": math.inf, "-1e+200": -1e200}
        empty = "most values are missing. Samples: [1]" if has_imputer else "sample 1, column"

        def of(value):
            return [samples[0], {**samples[1], columns[2]: value}]

        raw = [{name: 2.0**value for name, value in sample.items()} for sample in samples]
        for words, sent in {
            "base-2 logarithms": raw,
            "Samples: [1]": [samples[0], raw[1], *samples[2:]],
            f"columns are missing: '{columns[3]}'": [{**samples[0]}, dict(list(samples[1].items())[:3])],
            empty: [samples[0], dict.fromkeys(columns)],
            "send a list of samples": samples[0],
            "a list of samples": [],
            "list of samples": ["text"],
            "recursion": "[" * 100_000,
            "Expecting value": "",
            **{f"{where} got {shown}": of(value) for shown, value in odd.items()},
        }.items():
            status, answer = ask(sent)
            assert status == 422, words
            assert words in answer["error"]
        assert ask(of(samples[1][columns[2]])) == (200, {"labels": model.predict(X[:2]).tolist()})
        assert ask(of(None))[0] == (200 if has_imputer else 422)
        assert not begin(1000)  # closed after the time limit
        for length in (-1, 10**23, "some"):
            assert " 422 " in begin(length).splitlines()[0]
    finally:
        process.terminate()
        process.communicate()


def test_the_page_about_clusters_runs_on_one_of_threads(tmp_path, monkeypatch):
    da = pytest.importorskip("dask.array", reason="comes with the extra 'dask'")
    pytest.importorskip("zarr", reason="comes with the extra 'zarr'")
    pytest.importorskip("distributed", reason="comes with the extra 'dask'")
    monkeypatch.chdir(tmp_path)
    study = make_expression(40, 30, random_state=0)
    X = da.from_array(study.data, chunks=(40, 10))
    X.to_zarr("variants.zarr")
    fitting, many = examples("clusters.md")
    # Any port will do: None would be the usual one, which another cluster may have.
    here = "Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address='127.0.0.1:0')"
    names = {"y": study.target, "X_new": X}
    exec(fitting.replace("Client()", here), names)
    try:
        assert names["verify"](names["model"], names["X"], names["y"]).valid
        names |= {"X": study.data, "permutation_test": partial(permutation_test, random_state=0)}
        exec(many.replace("10_000", "9"), names)
        assert len(names["test"].null_distribution) == 9
    finally:
        names["client"].close()


def test_the_page_about_accelerators_says_what_exists():
    """It takes a device to run it; ``tests/core/test_device.py`` does the same with arrays of other kinds."""
    for code in examples("accelerators.md"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module == "minimaxrisk":
                assert {alias.name for alias in node.names} <= set(minimaxrisk.__all__)
