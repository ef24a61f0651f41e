"""Read the raw files in which the data sets are passed around: MATLAB, CSV and the NIPS 2003 text formats."""

from __future__ import annotations

import zipfile
from io import BytesIO, TextIOWrapper
from pathlib import Path, PurePosixPath

import numpy as np

from minimaxrisk.datasets.csv_table import parse_csv
from minimaxrisk.datasets.labelled_table import LabelledTable, labelled_table
from minimaxrisk.datasets.nips2003 import parse_nips2003
from minimaxrisk.files.array_files import matlab_variables

__all__ = ["LabelledTable", "read_table"]


def read_table(path: str | Path, *, n_features: int | None = None) -> LabelledTable:
    """Read a ``.mat`` or ``.csv`` file, a ``.zip`` with one of them, or NIPS 2003 files (zip or folder).

    ``n_features`` is the number of columns of sparse NIPS 2003 rows, which do not tell it themselves.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.is_dir():
        return parse_nips2003(_folder_parts(path), path, n_features=n_features)
    suffix = path.suffix.lower()
    if suffix == ".zip":
        return _read_zip(path, n_features)
    if suffix == ".mat":
        return _parse_mat(path.read_bytes(), path)
    if suffix == ".csv":
        with path.open(newline="", encoding="utf-8-sig") as file:
            return parse_csv(file, path)
    raise ValueError(f"{path} must end in .mat, .csv or .zip, or be a folder of NIPS 2003 files.")


def _read_zip(path: Path, n_features: int | None) -> LabelledTable:
    try:
        with zipfile.ZipFile(path) as archive:
            # macOS puts a shadow of every file under __MACOSX.
            members = [
                member
                for member in archive.namelist()
                if not member.endswith("/") and "__MACOSX" not in member
            ]
            if any(member.lower().endswith("_train.data") for member in members):
                parts = {PurePosixPath(member).name.lower(): archive.read(member) for member in members}
                return parse_nips2003(parts, path, n_features=n_features)
            tables = [member for member in members if member.lower().endswith((".mat", ".csv"))]
            if len(tables) != 1:
                raise ValueError(
                    f"{path} must hold one .mat or .csv file, or NIPS 2003 files such as NAME_train.data, "
                    f"got {', '.join(members[:5]) or 'nothing'}."
                )
            content = archive.read(tables[0])
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is not a complete zip file ({error}); get it again.") from error
    if tables[0].lower().endswith(".mat"):
        return _parse_mat(content, path)
    return parse_csv(TextIOWrapper(BytesIO(content), encoding="utf-8-sig", newline=""), path)


def _parse_mat(content: bytes, where: Path) -> LabelledTable:
    variables = matlab_variables(BytesIO(content), where)
    if not {"X", "Y"} <= set(variables):
        raise ValueError(f"{where} must hold the variables X and Y, got {', '.join(variables) or 'none'}.")
    return labelled_table(variables["X"], np.ravel(variables["Y"]), where)


def _folder_parts(folder: Path) -> dict[str, bytes]:
    """The texts under a folder; its neighbours too, as the UCI archive has NAME_valid.labels beside it."""
    files = [*folder.parent.glob("*_valid.labels"), *sorted(folder.rglob("*"))]
    wanted = ("_train.data", "_train.labels", "_valid.data", "_valid.labels")
    return {
        file.name.lower(): file.read_bytes()
        for file in files
        if file.is_file() and file.name.lower().endswith(wanted)
    }
