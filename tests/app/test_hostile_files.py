"""Files that attack are refused: within limited memory and time, with one line, and nothing is written."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import sparse

from minimaxrisk.app.files import ReadOptions, text
from minimaxrisk.app.files import read as reading
from minimaxrisk.app.files.guards import check_hdf5, check_workbook
from minimaxrisk.app.files.read import read as read_table
from tests.corpora.hostile import CASES, Commands, hdf5, lying_directory, parts_of

if not hasattr(os, "pidfd_open"):
    pytest.skip("memory is limited and measured as on Linux", allow_module_level=True)
pytest.importorskip("skops", reason="comes with the extra 'app'")
pytest.importorskip("anndata", reason="comes with the extra 'app'")

MOST_MB = 2000  # half of what a case may have


@pytest.fixture(scope="module")
def commands():
    with Commands() as started:
        yield started


@pytest.mark.parametrize("name", CASES)
def test_hostile_file(name, tmp_path, commands):
    found = commands.fit(CASES[name], tmp_path)
    assert found.code == 2, found
    assert found.err.count("\n") == 1, found.err
    assert found.err.startswith("minimaxrisk: t."), found.err
    assert (found.out, found.written) == ("", [])
    assert found.peak_mb < MOST_MB


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_entries_of_one_place_are_summed(kind, tmp_path):
    parts, member = parts_of(kind), "col" if kind == "coo" else "indices"
    parts[member] = parts[member].copy()
    parts[member][1] = parts[member][0]
    if kind == "coo":
        parts["row"][1] = parts["row"][0]
        expected = sparse.coo_matrix((parts["data"], (parts["row"], parts["col"])), shape=parts["shape"])
    else:
        make = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}[kind]
        expected = make((parts["data"], parts["indices"], parts["indptr"]), shape=parts["shape"])
    np.savez(tmp_path / "t.npz", **parts)
    X = read_table(tmp_path / "t.npz", ReadOptions()).numbers
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), expected.toarray())


def test_references_are_followed(tmp_path):
    """Old files refer to categories; an object need not have a name to be referred to."""
    with hdf5(tmp_path) as file:
        file["elsewhere"] = np.arange(3.0)
        file["obs/_index"].attrs["old"] = file["elsewhere"].ref
        check_hdf5(file["obs"], tmp_path / "t.h5ad")
        hidden = file.create_dataset("hidden", (3,), "u1", external=[(str(tmp_path / "secret"), 0, 3)])
        file["obs/_index"].attrs["old"] = hidden.ref
        with pytest.raises(ValueError, match="hidden"):
            check_hdf5(file["obs"], tmp_path / "t.h5ad")


def test_a_workbook_is_unpacked_to_its_end(tmp_path):
    lying_directory(tmp_path)
    with pytest.raises(ValueError, match="sheet1"):
        check_workbook(tmp_path / "t.xlsx")


def test_a_line_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "LONGEST_LINE", 1000)
    (tmp_path / "t.csv").write_text("class,a\nx," + "1" * 1000)
    with pytest.raises(ValueError, match="1000 characters"):
        read_table(tmp_path / "t.csv", ReadOptions())


@pytest.mark.parametrize("error", [MemoryError, SystemError, OverflowError, RecursionError])
def test_whatever_a_reader_raises_is_about_the_file(tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setitem(reading.READERS, ".npz", fail)
    (tmp_path / "t.npz").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"t\.npz"):
        read_table(tmp_path / "t.npz", ReadOptions())
