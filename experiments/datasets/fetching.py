"""Download a file in a way that can be broken off and continued.

Get a data set of the paper, from the network or a file that the user has, into the data folder.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from tqdm import tqdm

from experiments.datasets.folder import SUFFIXES, VARIABLE, data_home, find_dataset
from experiments.datasets.registry import DatasetInfo, dataset_info
from experiments.datasets.tables import (
    LabelledTable,
    content_sha256,
    labelled_table,
    manifest_rows,
    read_archive,
    read_table,
    write_archive,
)
from experiments.harness.extras import require

TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two pieces
PIECE = 1 << 14


class DownloadError(ConnectionError):
    """The file could not be downloaded from its address."""


class ResumingDownloader:
    """A downloader for pooch that collects the bytes in ``part`` and continues where it was broken off."""

    def __init__(self, part: Path, *, progressbar: bool = True) -> None:
        self.part = part
        self.progressbar = progressbar

    def __call__(self, url: str, output_file: str, pooch: Any = None) -> None:
        """Download to ``output_file``; a failure leaves what came in ``part``."""
        import requests  # noqa: PLC0415 - only those who download need it

        try:
            with requests.Session() as session:
                self._transfer(session, url)
        except requests.exceptions.RequestException as error:
            kept = self._size()
            again = f" {kept} bytes are kept; running it again continues." if kept else ""
            raise DownloadError(
                f"{url} cannot be reached or the connection broke ({type(error).__name__}); check the "
                f"network.{again}"
            ) from error
        self.part.replace(output_file)

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _transfer(self, session: Any, url: str) -> None:
        offset = self._size()
        # Compressed on the way, the bytes could not be counted or continued.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={offset}-"} if offset else {})
        with session.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            start, total = _content_range(response.headers.get("Content-Range", ""))
            if response.status_code == 416 and offset == total:
                return  # nothing was missing but the last step
            if not (offset and (response.status_code == 416 or (start is not None and start != offset))):
                self._save(response, url, offset)
                return
        # What is kept does not fit the server's file: start over.
        self.part.unlink()
        self._transfer(session, url)

    def _save(self, response: Any, url: str, offset: int) -> None:
        if response.status_code not in {200, 206}:
            raise DownloadError(f"{url} answered {response.status_code} {response.reason}; expected a file.")
        if response.status_code == 200:
            offset = 0  # the server sends the whole file whatever was asked for
        length = response.headers.get("Content-Length", "")
        total = offset + int(length) if length.isdigit() else None
        with self.part.open("ab" if offset else "wb") as file, self._bar(url, offset, total) as bar:
            for piece in response.iter_content(PIECE):
                file.write(piece)
                bar.update(len(piece))
        if total is not None and self._size() != total:
            raise DownloadError(
                f"{url} ended after {self._size()} of {total} bytes; running it again continues."
            )

    def _bar(self, url: str, offset: int, total: int | None) -> Any:
        return tqdm(
            total=total,
            initial=offset,
            unit="B",
            unit_scale=True,
            desc=url.rsplit("/", 1)[-1],
            file=sys.stderr,
            disable=not self.progressbar,
        )


def _content_range(header: str) -> tuple[int | None, int | None]:
    """First byte and size of the whole file as in ``bytes 5-9/10`` or ``bytes */10``; None if not told."""
    match = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", header.strip())
    if match is None:
        return None, None
    start, total = match.groups()
    return (int(start) if start else None), (int(total) if total != "*" else None)


def fetch_dataset(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
    progressbar: bool = True,
    url: str | None = None,
    source: str | os.PathLike[str] | None = None,
) -> Path:
    """Get a data set of the paper into the data folder, as ``NAME.npz``; downloads need the extra ``data``.

    The file is downloaded, unless ``source`` names one that you have, or a raw file was put into the data
    folder by hand. A download that was broken off continues at the next call.

    Parameters
    ----------
    name : str
        Its name in the paper's Table 1, such as ``"Colon"``.
    folder : str, Path or None, default=None
        The data folder; see ``data_home``.
    force : bool, default=False
        Whether to download it even if it is there.
    progressbar : bool, default=True
        Whether to show the progress of the download on standard error.
    url : str or None, default=None
        Another address of the same file; None takes that of ``dataset_info``.
    source : str, Path or None, default=None
        A file that you have, whatever its name: ``.mat``, ``.csv``, one of them zipped, ``.npz``, or the zip
        file or folder of the NIPS 2003 challenge; or a folder in which to look for it by its name. Its table
        takes the place of one that is there. Nothing is downloaded.

    Returns
    -------
    Path
        The file in the data folder.

    Raises
    ------
    FileNotFoundError
        If no address is known; the message says where to look.
    ConnectionError
        If the download fails; it goes on where it stopped when it is called again.
    ValueError
        If what came is not the data set, or if the manifest of the folder has another file of this name.

    Warns
    -----
    UserWarning
        Where the table has the right size but not the values with which the results of this library were
        measured.

    See Also
    --------
    load_dataset : Loads it from there.

    Examples
    --------
    >>> from minimaxrisk.datasets import fetch_dataset
    >>> fetch_dataset("Colon", source="~/Downloads")  # doctest: +SKIP
    """
    if source is not None and url is not None:
        raise ValueError(f"source and url cannot both be given, got {source} and {url}.")
    info, home = dataset_info(name), data_home(folder)
    found = find_dataset(name, home)
    converted = found is not None and found.path.suffix.lower() == ".npz"
    if found is not None and converted and not force and source is None:
        return found.path
    if name in manifest_rows(home):
        raise ValueError(
            f"MANIFEST.csv of {home} lists a file and a checksum for {name} that a download would not match; "
            "fetch into another folder, or remove its line from the manifest."
        )
    if source is not None:
        return _convert(info, _source_file(info, Path(source).expanduser()), _ready(home))
    address = url or info.url
    if found is not None and not converted and (not force or address is None):
        return _convert(info, found.path, _ready(home))
    if address is None:
        raise FileNotFoundError(
            f"{name} cannot be downloaded: no address is known. Look for it at {info.homepage} "
            f"({info.n_samples} samples, {info.n_features} features, {info.n_classes} classes: "
            f"{info.reference}) and put it into {home} as {name}.csv, {name}.mat or {name}.csv.zip, or name "
            f"your file with source= (--from at the command line). {info.note}"
        )
    return _download_and_convert(info, address, home, force=force, progressbar=progressbar)


def _download_and_convert(info: DatasetInfo, url: str, home: Path, *, force: bool, progressbar: bool) -> Path:
    pooch = require("pooch")
    downloads = _ready(home / "downloads")
    raw = downloads / info.file
    if force:
        for old in (raw, downloads / f"{info.file}.part"):
            old.unlink(missing_ok=True)
    logger: logging.Logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)  # its advice on hashes is not for users of a data set
    try:
        pooch.retrieve(
            url,
            known_hash=None if info.sha256 is None else f"sha256:{info.sha256}",
            fname=info.file,
            path=downloads,
            downloader=ResumingDownloader(downloads / f"{info.file}.part", progressbar=progressbar),
        )
    except ValueError as error:
        raise ValueError(
            f"the file from {url} does not have the known checksum of {info.name} and was removed: {error}"
        ) from error
    except DownloadError as error:
        raise DownloadError(
            f"{error} To get {info.name} by hand, see {info.homepage} and put {info.file} into {home}, or "
            "name your file with source= (--from at the command line). The address was last checked in "
            f"{info.checked}"
        ) from error
    finally:
        logger.setLevel(level)
    try:
        return _convert(info, raw, home)
    except ValueError as error:
        aside = raw.with_name(f"{raw.name}.rejected")
        raw.replace(aside)
        raise ValueError(f"{error} The file from {url} is kept as {aside}.") from error


def _source_file(info: DatasetInfo, source: Path) -> Path:
    """The file itself, or the one of a folder with that name; a folder may also be the NIPS 2003 files."""
    if not source.exists():
        raise FileNotFoundError(f"source must name a file or folder that exists, got {source}.")
    if not source.is_dir():
        return source
    found = find_dataset(info.name, source)
    if found is not None:
        return found.path
    if info.format == "nips2003" and any(source.rglob("*_train.data")):
        return source
    raise FileNotFoundError(
        f"the folder {source} has no file of {info.name}: looked for {info.file} and for {info.name} with "
        f"the endings {', '.join(SUFFIXES)}, in upper or lower case. If it has another name, give the file "
        "itself."
    )


def _convert(info: DatasetInfo, raw: Path, home: Path) -> Path:
    table = _read(info, raw)
    info.check(table.X, len(table.classes), raw)
    if info.content_sha256 not in {None, content_sha256(table.X, table.y)}:
        warnings.warn(
            f"{raw} has the size of {info.name}, but not the values, or not the labels, with which the "
            "results of this library were measured: it may be a normalised or reordered copy, and results "
            "may differ.",
            UserWarning,
            stacklevel=3,
        )
    path = home / f"{info.name}.npz"
    write_archive(table, path)
    return path


def _read(info: DatasetInfo, raw: Path) -> LabelledTable:
    if raw.suffix.lower() != ".npz":
        return read_table(raw, n_features=info.n_features)
    X, y, names = read_archive(raw.read_bytes(), raw)
    return labelled_table(X, y if names is None else names[y], raw)


def _ready(folder: Path) -> Path:
    """Make the folder and see that files can be written to it, before anything is downloaded."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise PermissionError(
            f"the data folder {folder} cannot be written ({error.strerror}); choose another with folder= or "
            f"the environment variable {VARIABLE}."
        ) from error
