"""One small study, written in every format that people have it in."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

N_SAMPLES, N_GENES = 24, 9
GENES = [
    "plain",
    "with, comma",
    'with "quotes"',
    "<script>alert('x')</script>",
    "emoji 🧬",
    "עברית وعربي",
    "a.b[c]",
    " padded",
    "ünïcödé",
]
# Names that would break a page which does not expect them.
HOSTILE_NAMES = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    'a "quoted", comma\'d name',
    "IL6[1].beta",
    "גן אחד",
    "gene 🧬 & co",
]
SAMPLES = [f"patient {i}" for i in range(N_SAMPLES)]


def values() -> np.ndarray:
    """Numbers with as many digits as workbooks keep."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N_SAMPLES, N_GENES))
    X[: N_SAMPLES // 2, :3] += 1.5
    X[3, 4] = -0.0
    return X.round(12)


def labels() -> np.ndarray:
    return np.array(["ill"] * (N_SAMPLES // 2) + ["well"] * (N_SAMPLES // 2))


@dataclass(frozen=True)
class StudyFile:
    """A file, what the command line needs to read it, and what it makes of the table."""

    path: Path
    fit: list[str] = field(default_factory=lambda: ["--target", "diagnosis"])
    reading: list[str] = field(default_factory=list)
    is_named: bool = True
    is_sparse: bool = False


def write_rows(path: Path, rows: list[list[object]], delimiter: str = ",") -> Path:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def sample_rows(X: np.ndarray | None = None) -> list[list[object]]:
    X = values() if X is None else X
    header: list[object] = ["patient", *GENES, "diagnosis"]
    return [header] + [[SAMPLES[i], *map(repr, X[i].tolist()), label] for i, label in enumerate(labels())]


def gene_rows() -> list[list[object]]:
    return [["gene", *SAMPLES]] + [[g, *map(repr, values()[:, j].tolist())] for j, g in enumerate(GENES)]


def text_files(folder: Path) -> dict[str, StudyFile]:
    rows = sample_rows()
    by_name = write_rows(
        folder / "labels.tsv",
        [["who", "diagnosis"], *reversed(list(map(list, zip(SAMPLES, labels(), strict=True))))],
        "\t",
    )
    joined = ["--labels", str(by_name)]
    gct = [["#1.2"], [str(N_GENES), str(N_SAMPLES)], ["Name", "Description", *SAMPLES]]
    gct += [[row[0], "na", *row[1:]] for row in gene_rows()[1:]]
    geo = [["!Series_title", "A study"], ["!Sample_geo_accession", *SAMPLES]]
    geo += [["!Sample_characteristics_ch1", *(f"diagnosis: {label}" for label in labels())]]
    geo += [
        ["!series_matrix_table_begin"],
        ["ID_REF", *SAMPLES],
        *gene_rows()[1:],
        ["!series_matrix_table_end"],
    ]
    return {
        "csv": StudyFile(write_rows(folder / "study.csv", rows)),
        "tsv": StudyFile(write_rows(folder / "study.tsv", rows, "\t")),
        "csv.gz": StudyFile(write_rows(folder / "study.csv.gz", rows)),
        "pipes": StudyFile(write_rows(folder / "study.txt", rows, "|")),
        "no header": StudyFile(
            write_rows(folder / "bare.csv", rows[1:]),
            fit=["--target", f"column_{N_GENES + 2}"],
            reading=["--no-header"],
            is_named=False,
        ),
        "genes in rows": StudyFile(
            write_rows(folder / "genes.csv", gene_rows()), fit=["--target", "diagnosis"], reading=joined
        ),
        "gct": StudyFile(write_rows(folder / "study.gct", gct, "\t"), reading=joined),
        "geo": StudyFile(write_rows(folder / "series_matrix.txt.gz", geo, "\t")),
    }


def array_files(folder: Path) -> dict[str, StudyFile]:
    X, y = values(), labels()
    codes = (y == "well").astype(int)
    np.savez(folder / "study.npz", X=X, y=y, feature_names=np.array(GENES), sample_names=np.array(SAMPLES))
    sparse.save_npz(folder / "sparse.npz", sparse.csr_matrix(X))
    only_labels = write_rows(folder / "order.csv", [["diagnosis"], *([label] for label in y)])
    entries = [" ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1)) for row in X.tolist()]
    lines = [f"{code} {entry}\n" for code, entry in zip(codes, entries, strict=True)]
    (folder / "study.svm").write_text("".join(lines))
    return {
        "npz": StudyFile(folder / "study.npz", fit=["--target", "y"]),
        "sparse npz": StudyFile(
            folder / "sparse.npz", reading=["--labels", str(only_labels)], is_named=False, is_sparse=True
        ),
        "svmlight": StudyFile(folder / "study.svm", fit=[], is_named=False, is_sparse=True),
    }


def frame_files(folder: Path) -> dict[str, StudyFile]:
    """Formats of data frames; they need the extra ``app``."""
    import anndata  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    X = values()
    frame = pd.DataFrame(X, columns=GENES, index=pd.Index(SAMPLES, name="patient"))
    frame["diagnosis"] = labels()
    frame.to_parquet(folder / "study.parquet")
    frame.to_excel(folder / "study.xlsx", sheet_name="Data")
    obs, var = frame[["diagnosis"]], pd.DataFrame(index=GENES)
    anndata.AnnData(X=sparse.csr_matrix(X), obs=obs, var=var).write_h5ad(folder / "study.h5ad")
    anndata.AnnData(X=np.zeros_like(X), obs=obs, var=var, layers={"log": X}).write_h5ad(folder / "layer.h5ad")
    return {
        "parquet": StudyFile(folder / "study.parquet"),
        "xlsx": StudyFile(folder / "study.xlsx", reading=["--sheet", "Data"]),
        "h5ad": StudyFile(folder / "study.h5ad", is_sparse=True),
        "h5ad layer": StudyFile(folder / "layer.h5ad", reading=["--layer", "log"]),
    }
