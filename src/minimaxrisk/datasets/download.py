"""Download a file in a way that can be broken off and continued."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

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
