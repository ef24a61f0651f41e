"""Download a data set of the paper, check it, and keep it in the data folder."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from minimaxrisk.datasets.archive import write_archive
from minimaxrisk.datasets.download import DownloadError, ResumingDownloader
from minimaxrisk.datasets.folder import VARIABLE, data_home, find_dataset
from minimaxrisk.datasets.manifest import manifest_rows
from minimaxrisk.datasets.original_formats import read_table
from minimaxrisk.datasets.registry import DatasetInfo, dataset_info


def fetch_dataset(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
    progressbar: bool = True,
    url: str | None = None,
) -> Path:
    """Get a data set of the paper into the data folder, as ``NAME.npz``; downloads need the extra ``data``.

    A raw file that was put into the folder by hand is converted; otherwise the file is downloaded. A
    download that was broken off continues at the next call.

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

    See Also
    --------
    load_dataset : Loads it from there.
    """
    info, home = dataset_info(name), data_home(folder)
    found = find_dataset(name, home)
    converted = found is not None and found.path.suffix.lower() == ".npz"
    if found is not None and converted and not force:
        return found.path
    if name in manifest_rows(home):
        raise ValueError(
            f"MANIFEST.csv of {home} lists a file and a checksum for {name} that a download would not match; "
            "fetch into another folder, or remove its line from the manifest."
        )
    address = url or info.url
    if found is not None and not converted and (not force or address is None):
        return _convert(info, found.path, _ready(home))
    if address is None:
        raise FileNotFoundError(
            f"{name} cannot be downloaded: no address is known. Look for it at {info.homepage} "
            f"({info.n_samples} samples, {info.n_features} features, {info.n_classes} classes: "
            f"{info.reference}) and put it into {home} as {name}.csv, {name}.mat or {name}.csv.zip. "
            f"{info.note}"
        )
    return _download_and_convert(info, address, home, force=force, progressbar=progressbar)


def _download_and_convert(info: DatasetInfo, url: str, home: Path, *, force: bool, progressbar: bool) -> Path:
    pooch = _pooch()
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
            f"{error} To get {info.name} by hand, see {info.homepage} and put {info.file} into {home}."
        ) from error
    finally:
        logger.setLevel(level)
    try:
        return _convert(info, raw, home)
    except ValueError as error:
        aside = raw.with_name(f"{raw.name}.rejected")
        raw.replace(aside)
        raise ValueError(f"{error} The file from {url} is kept as {aside}.") from error


def _convert(info: DatasetInfo, raw: Path, home: Path) -> Path:
    table = read_table(raw, n_features=info.n_features)
    info.check(table.X, len(table.classes), raw)
    path = home / f"{info.name}.npz"
    write_archive(table, path)
    return path


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


def _pooch() -> Any:
    try:
        import pooch  # noqa: PLC0415 - an extra that only downloads need
        import tqdm  # noqa: F401, PLC0415
    except ImportError as error:
        raise ImportError(
            f'downloads need {error.name}, which is not installed: pip install "minimaxrisk[data]".'
        ) from error
    return pooch
