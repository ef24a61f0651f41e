"""Messages about files: lists of names, near misses, and what parsers raise at damaged ones."""

from __future__ import annotations

import difflib
import itertools
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minimaxrisk._utils.environment import require

MERGE = "or pass --duplicates mean (or max, or suffix) if they are measurements of one gene"


def listed(names: Iterable[str], most: int = 5) -> str:
    """The first few names for a message, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(str(name)) for name in names[:most]) + more


def ignoring(names: Sequence[str], most: int | None = None) -> str:
    """The options that leave columns out, all or the first few, for a shell."""
    options = " ".join(f"--ignore {shlex.quote(name)}" for name in names[:most])
    return options if most is None or len(names) <= most else f"{options} ..."


def counted(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"


def folded(name: str, keep: str = "") -> str:
    """Letters and digits alone, in lower case, and the characters to keep."""
    return "".join(letter for letter in name.casefold() if letter.isalnum() or letter in keep)


def nearest(name: str, names: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where a name is close, else nothing."""
    lowered: dict[str, str] = {}
    for candidate in names:
        lowered.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(name.lower(), list(itertools.islice(lowered, 5000)), n=1)
    if name.lower() in lowered:
        close = [name.lower()]
    return f"; did you mean {lowered[close[0]]!r}?" if close else ""


def repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, in order of their first occurrence."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [name for name, count in seen.items() if count > 1]


def require_unique(names: Sequence[str], where: object, *, what: str, remedy: str) -> None:
    twice = repeated(names)
    if twice:
        raise ValueError(
            f"{where}: {what} must be unique, got {listed(twice)} more than once "
            f"among {len(names)}; {remedy}."
        )


@contextmanager
def parsing(where: object, what: str) -> Iterator[None]:
    """Whatever a parser raises at a damaged file becomes one message that a user can act on."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise ValueError(
            f"{where} cannot be read as {what} ({brief(error)}); "
            "it may be damaged, incomplete or in another format: get or export it again."
        ) from error


def brief(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def needed(module: str, purpose: str) -> Any:
    """A module of a package that only some formats need."""
    return require(module, extra="app", purpose=f"{purpose} needs")
