"""Files that appear whole or not at all: an interrupted run leaves the old file as it was."""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

# No space on the device, no space in the quota, a file larger than allowed: errors that name no file.
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
PARTIAL = ".minimaxrisk-"  # how the names of files begin that are not complete
SECONDS_OF_A_DAY = 86_400.0


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A new file to write beside ``path``, which takes its place at the end; after an error it is gone.

    Of a link the file that it points to is replaced. What a killed process left there a day ago is removed.
    """
    final = checked_destination(path)
    if final.exists() and not final.is_file():  # a device such as /dev/stdout
        yield final
        return
    _remove_abandoned(final.parent)
    # Short, because file systems limit the length of names; NumPy adds an ending to names without one.
    partial = final.with_name(f"{PARTIAL}{secrets.token_hex(4)}{final.suffix[:20]}")
    try:
        # Made here and not by tempfile, whose files only their owner may read.
        partial.touch(mode=final.stat().st_mode & 0o777 if final.exists() else 0o666, exist_ok=False)
        yield partial
        with partial.open("rb+") as written:
            os.fsync(written.fileno())  # a new name for content that is not on the disk would lose both files
        os.replace(partial, final)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            raise OSError(
                f"{path} cannot be written ({error.strerror}); make space there, or name another place."
            ) from error
        raise


def _remove_abandoned(folder: Path) -> None:
    """Remove files that are not complete and that nobody has written to for a day."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            is_partial = entry.name.startswith(PARTIAL) and entry.is_file(follow_symlinks=False)
            if is_partial and time.time() - entry.stat().st_mtime > SECONDS_OF_A_DAY:
                os.unlink(entry)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write text (UTF-8, line ends as they are) or bytes."""
    with whole_file(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def checked_destinations(results: Sequence[str | Path | None], sources: Sequence[str | Path | None]) -> None:
    """Refuse, before the work, results that cannot be written, or would overwrite a source or each other."""
    taken = {os.path.realpath(path): path for path in sources if path is not None}
    for path in results:
        if path is None:
            continue
        final = checked_destination(path)
        if str(final) in taken and (not final.exists() or final.is_file()):
            raise ValueError(f"{path} would overwrite {taken[str(final)]}; give it another name.")
        taken[str(final)] = path


def checked_destination(path: str | Path) -> Path:
    """The file that a result goes to; ask before the work that makes the result.

    Raises
    ------
    ValueError
        If there is no folder for it, or it is a folder itself, or the folder cannot be written to, or the
        name is too long.
    """
    final = Path(os.path.realpath(path))
    try:
        final.lstat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ValueError(f"{path} cannot be written ({error.strerror}); give it another name.") from error
    if final.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it.")
    if not final.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {final.parent}; make it first.")
    if not os.access(final if final.exists() and not final.is_file() else final.parent, os.W_OK):
        raise ValueError(f"{path} cannot be written: no permission to write in {final.parent}.")
    return final
