"""Downloads of data sets from a server of our own on this machine."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from experiments.datasets import dataset_info, fetch_dataset, load_dataset
from experiments.datasets.registry import REGISTRY
from experiments.datasets.tables import content_sha256

pooch = pytest.importorskip("pooch")
SHAPE = (40, 600)
FILE = "GLI_85.mat"


class Handler(BaseHTTPRequestHandler):
    """Serves one file, well or badly, and remembers what was asked for."""

    def do_GET(self):
        server = self.server
        start = re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))
        offset = int(start[1]) if start else 0
        server.asked.append(self.headers.get("Range"))
        if server.status != 200:
            self.send_error(server.status)
        else:
            body = server.content[offset:]
            self.send_response(206 if offset else 200)
            if offset:
                self.send_header(
                    "Content-Range", f"bytes {offset}-{len(server.content) - 1}/{len(server.content)}"
                )
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: server.stop])
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    """A server of a table, and the registry's GLI_85 made as small as the table."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.asked, running.status, running.stop = [], 200, None
        running.url = f"http://127.0.0.1:{running.server_address[1]}/{FILE}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        info = replace(dataset_info("GLI_85"), n_samples=SHAPE[0], n_features=SHAPE[1], url=running.url)
        monkeypatch.setitem(REGISTRY, "GLI_85", info)
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def table(server, tmp_path_factory):
    """The table that the server serves."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal(SHAPE), rng.integers(1, 3, SHAPE[0])
    path = tmp_path_factory.mktemp("served") / FILE
    savemat(path, {"X": X, "Y": y[:, None]})
    server.content = path.read_bytes()
    return X, y


def fetch(folder, **arguments):
    return fetch_dataset("GLI_85", folder, progressbar=False, **arguments)


def assert_loads(folder, table):
    X, y = load_dataset("GLI_85", folder, return_X_y=True)
    np.testing.assert_array_equal(X, table[0])
    assert y.tolist() == table[1].astype(str).tolist()


def test_download_once(server, table, tmp_path):
    home = tmp_path / "new" / "folder"
    path = fetch(home)
    assert path == home / "GLI_85.npz"
    assert_loads(home, table)
    assert [file.name for file in home.iterdir() if file.is_file()] == ["GLI_85.npz"]
    assert [file.name for file in (home / "downloads").iterdir()] == [FILE]
    assert fetch(home) == path
    assert server.asked == [None]
    # Without the converted table the raw file is still there; only force asks the server again.
    path.unlink()
    fetch(home)
    assert server.asked == [None]
    fetch(home, force=True)
    assert server.asked == [None, None]
    assert_loads(home, table)


def test_a_truncated_transfer_continues(server, table, tmp_path):
    server.stop = 100_000
    with pytest.raises(ConnectionError, match="running it again continues"):
        fetch(tmp_path)
    part = tmp_path / "downloads" / f"{FILE}.part"
    kept = part.stat().st_size
    assert 50_000 < kept <= 100_000
    assert not (tmp_path / "GLI_85.npz").exists()
    server.stop = None
    fetch(tmp_path)
    assert server.asked == [None, f"bytes={kept}-"]
    assert not part.exists()
    assert_loads(tmp_path, table)


def test_hash(server, table, tmp_path, monkeypatch):
    right = hashlib.sha256(server.content).hexdigest()
    info = REGISTRY["GLI_85"]
    monkeypatch.setitem(REGISTRY, "GLI_85", replace(info, sha256="0" * 64))
    with pytest.raises(ValueError, match=f"not have the known checksum of GLI_85 and was removed.*{right}"):
        fetch(tmp_path)
    assert list((tmp_path / "downloads").iterdir()) == []
    monkeypatch.setitem(REGISTRY, "GLI_85", replace(info, sha256=right))
    fetch(tmp_path)
    assert_loads(tmp_path, table)


def test_no_such_file(server, table, tmp_path):
    server.status = 404
    with pytest.raises(ConnectionError, match=rf"{FILE} answered 404 Not Found.*put {FILE} into"):
        fetch(tmp_path)
    # The page of the error is not taken for a part of the file.
    assert list((tmp_path / "downloads").iterdir()) == []


def test_no_connection(tmp_path, server):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        url = f"http://127.0.0.1:{closed.server_address[1]}/{FILE}"
    words = (
        r"cannot be reached.*check the network.*To get GLI_85 by hand.*source=.*last checked in \w+ \d+: not"
    )
    with pytest.raises(ConnectionError, match=words):
        fetch(tmp_path, url=url)


@pytest.mark.parametrize("broken", ["shape", "bytes", "discretised"])
def test_a_file_that_is_something_else_is_kept_aside(server, table, tmp_path, monkeypatch, broken):
    if broken == "shape":
        message = "expected 40 samples, 601 features and 2 classes, got 40 samples, 600 features"
        monkeypatch.setitem(REGISTRY, "GLI_85", replace(REGISTRY["GLI_85"], n_features=601))
    elif broken == "bytes":
        message, server.content = "cannot be read as a MATLAB file", b"<html>moved</html>"
    else:
        message = "first sample has only 3 distinct values"
        savemat(tmp_path / "x.bin", {"X": np.sign(table[0].round()), "Y": table[1]}, appendmat=False)
        server.content = (tmp_path / "x.bin").read_bytes()
    with pytest.raises(ValueError, match=rf"{message}.*kept as .*{FILE}\.rejected"):
        fetch(tmp_path)
    assert [file.name for file in (tmp_path / "downloads").iterdir()] == [f"{FILE}.rejected"]
    assert not (tmp_path / "GLI_85.npz").exists()


def test_a_file_put_there_by_hand_is_converted(server, table, tmp_path, monkeypatch):
    (tmp_path / FILE.lower()).write_bytes(server.content)
    assert fetch(tmp_path) == tmp_path / "GLI_85.npz"
    assert server.asked == []
    assert_loads(tmp_path, table)


@pytest.mark.parametrize("kind", ["file", "folder", "npz"])
def test_a_file_that_the_user_has(server, table, tmp_path, kind):
    theirs, home = tmp_path / "Downloads", tmp_path / "home"
    theirs.mkdir()
    source = theirs / {"file": "from a colleague.mat", "folder": FILE.lower(), "npz": "GLI_85.npz"}[kind]
    source.write_bytes(server.content)
    if kind == "npz":
        np.savez_compressed(source, X=table[0], y=table[1] - 1, classes=["1", "2"])
    before = source.read_bytes()
    assert fetch(home, source=theirs if kind == "folder" else source) == home / "GLI_85.npz"
    assert_loads(home, table)
    assert server.asked == []
    assert source.read_bytes() == before
    # A later file takes its place.
    changed = (table[0] + 1.0, table[1])
    savemat(theirs / "new.mat", {"X": changed[0], "Y": changed[1]})
    fetch(home, source=theirs / "new.mat")
    assert_loads(home, changed)


def test_a_folder_of_the_challenge_under_another_name(tmp_path, monkeypatch):
    info = replace(dataset_info("Arcene"), n_samples=4, n_features=7, content_sha256=None)
    monkeypatch.setitem(REGISTRY, "Arcene", info)
    folder = tmp_path / "from the archive"
    folder.mkdir()
    for part, rows in (
        ("train", "1 2 3 4 5 6 7\n2 4 6 8 1 3 5\n"),
        ("valid", "7 6 5 4 3 2 1\n9 7 5 3 1 8 6\n"),
    ):
        (folder / f"arcene_{part}.data").write_text(rows)
        (folder / f"arcene_{part}.labels").write_text("1\n-1\n")
    fetch_dataset("Arcene", tmp_path / "home", source=folder)
    X, y = load_dataset("Arcene", tmp_path / "home", return_X_y=True)
    assert X[2].tolist() == [7, 6, 5, 4, 3, 2, 1]
    assert y.tolist() == ["1", "-1", "1", "-1"]


def test_a_source_that_is_wrong(server, table, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"source must name a file or folder that exists, got .*nowhere"
    ):
        fetch(tmp_path, source=tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        FileNotFoundError, match=r"has no file of GLI_85: looked for GLI_85\.mat.*give the file"
    ):
        fetch(tmp_path, source=tmp_path / "empty")
    with pytest.raises(ValueError, match="source and url cannot both be given"):
        fetch(tmp_path, source=tmp_path, url="http://127.0.0.1/")
    savemat(tmp_path / "other.mat", {"X": table[0][:, 1:], "Y": table[1]})
    with pytest.raises(ValueError, match=r"other\.mat is not GLI_85: expected 40 samples, 600 features"):
        fetch(tmp_path, source=tmp_path / "other.mat")
    assert (tmp_path / "other.mat").exists()
    assert server.asked == []


def test_another_table_of_the_same_size_is_told_of(server, table, tmp_path, monkeypatch):
    known = replace(REGISTRY["GLI_85"], content_sha256=content_sha256(*table))
    monkeypatch.setitem(REGISTRY, "GLI_85", known)
    fetch(tmp_path)  # in silence: a warning would be an error here
    savemat(tmp_path / "logarithms.mat", {"X": np.log(np.abs(table[0])), "Y": table[1]})
    with pytest.warns(UserWarning, match=r"logarithms\.mat has the size of GLI_85, but not the values"):
        fetch(tmp_path, source=tmp_path / "logarithms.mat")


def test_content_counts_and_not_how_it_is_stored():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((6, 9)) < 0.5, 0.0, rng.standard_normal((6, 9)))
    labels, order = np.array([1, 1, 2, 2, 2, 3]), rng.permutation(6)
    expected = content_sha256(X, labels)
    for copy, names in (
        (sparse.csr_array(X), labels),
        (X.astype(np.float32), labels),
        (X * (1 + np.finfo(float).eps), labels),
        (X[order], np.array(["c", "a", "b"])[labels - 1][order]),
    ):
        assert content_sha256(copy, names) == expected
    swapped = labels[[0, 2, 1, 3, 4, 5]]
    for copy, names in ((X[:, ::-1], labels), (X, swapped), (X + 1e-3, labels)):
        assert content_sha256(copy, names) != expected


def test_no_address_is_known(tmp_path):
    with pytest.raises(FileNotFoundError, match=rf"Look for it at https://.*{tmp_path} as Lung\.csv"):
        fetch_dataset("Lung", tmp_path)
    with pytest.raises(ValueError, match=r"unknown data set 'lungs'; .* Did you mean 'Lung'"):
        fetch_dataset("lungs", tmp_path)


def test_a_folder_that_cannot_be_written(server, table, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PermissionError, match=r"cannot be written .*choose another with folder="):
        fetch(tmp_path / "file" / "below")
    assert server.asked == []


def test_what_a_manifest_describes_is_left_alone(server, table, tmp_path):
    header = "name,file,n_samples,n_features,n_classes,sha256,notes\n"
    (tmp_path / "MANIFEST.csv").write_text(f"{header}GLI_85,GLI_85.npz,,,,0,\n")
    (tmp_path / "GLI_85.npz").write_bytes(b"mine")
    assert fetch(tmp_path) == tmp_path / "GLI_85.npz"
    with pytest.raises(ValueError, match="remove its line from the manifest"):
        fetch(tmp_path, force=True)
    assert (tmp_path / "GLI_85.npz").read_bytes() == b"mine"


def test_without_pooch(server, table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match="--group reproduce"):
        fetch(tmp_path)
