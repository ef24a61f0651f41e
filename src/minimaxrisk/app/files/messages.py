"""Words for messages about files: lists of names, near misses, options as the caller writes them."""

from __future__ import annotations

import difflib
import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minimaxrisk._utils.arguments import listed
from minimaxrisk._utils.environment import require

PYTHON, COMMAND_LINE = "python", "command line"
VERSION = re.compile(r"^(ens[a-z]*\d{6,}|[nx][mrp]_\d+)\.\d+")  # of Ensembl and RefSeq
LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
MOST_COMPARED = 5000  # names that may be meant


def spelled(spelling: str, name: str, *values: str | bool | int) -> str:
    """Return an option with its values as the caller writes it: ``--skip-lines 3`` or ``skip_lines=3``."""
    if spelling == PYTHON:
        shown = list(values) if name == "ignore" and values else next(iter(values), None)
        return f"{name}=" if shown is None else f"{name}={shown!r}"
    option = name.replace("_", "-")
    if not values or values[0] is True:
        return f"--{option}"
    if values[0] is False:
        return f"--no-{option}"
    return " ".join(f"--{option} {quoted(str(value))}" for value in values)


def quoted(text: str) -> str:
    """For a shell; in double quotes where they do, since cmd.exe knows no others."""
    is_plain = shlex.quote(text) == text or not set(text).isdisjoint("\"$`\\!'")
    return shlex.quote(text) if is_plain else f'"{text}"'


def other_spellings(wanted: Iterable[str], found: Iterable[str]) -> dict[str, str]:
    """Return names that were found, by those wanted that they seem to be other spellings of.

    They differ in case, punctuation, leading zeros or version alone, and match one to one.
    """
    ours, theirs = _by_spelling(wanted), _by_spelling(found)
    pairs = ((names, theirs.get(key, [])) for key, names in ours.items() if key)
    return {a[0]: b[0] for a, b in pairs if len(a) == len(b) == 1}


def _by_spelling(names: Iterable[str]) -> dict[str, list[str]]:
    by_key: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        plain = VERSION.sub(r"\1", name.strip().casefold())
        key = LEADING_ZEROS.sub("", "".join(filter(str.isalnum, plain)))
        signs = plain[len(plain.rstrip("+-/")) :]  # CD4+ and CD4- are not spellings of CD4
        by_key.setdefault(key and key + signs, []).append(name)
    return by_key


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` where a name is close, else nothing; numbers are never meant."""
    lowered: dict[str, str] = {}
    for candidate in names:
        lowered.setdefault(candidate.lower(), candidate)
    if 2 * sum(map(str.isdecimal, name)) > len(name):
        return ""
    close = difflib.get_close_matches(name.lower(), list(itertools.islice(lowered, MOST_COMPARED)), n=1)
    close = [name.lower()] if name.lower() in lowered else close
    return f"; did you mean {lowered[close[0]]!r}?" if close else ""


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, in order of their first occurrence."""
    return [name for name, n in Counter(names).items() if n > 1]


def require_unique(names: Sequence[str], where: object, *, what: str, remedy: str) -> None:
    twice = repeated(names)
    if twice:
        raise ValueError(
            f"{where}: {what} must be unique, got these more than once among {len(names)}: "
            f"{listed(twice)}; {remedy}."
        )


@contextmanager
def parsing(where: object, what: str) -> Iterator[None]:
    """Turn what a parser raises at a damaged file into one message that a user can act on.

    A missing package, a lack of memory and a message that names the file pass through. The panic of a parser
    in Rust is not an Exception.
    """
    try:
        yield
    except (ImportError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if isinstance(error, ValueError) and str(error).startswith(str(where)):
            raise
        raise ValueError(
            f"{where} cannot be read as {what} ({brief(error)}); "
            "it may be damaged, incomplete or in another format: get or export it again."
        ) from error


def brief(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def needed(module: str, purpose: str) -> Any:
    """Return a module of a package that only some formats need."""
    return require(module, extra="app", purpose=f"{purpose} needs")
