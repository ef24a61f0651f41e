"""How far a loop of fits has come: told to whoever waits through a context variable, not in every call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[int, int], object]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call the listener with the numbers of pieces done and of all, as loops inside go on."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell_progress(n_done: int, n_all: int) -> None:
    """Tell whoever listens, if anybody does."""
    listener = _listener.get()
    if listener is not None:
        listener(n_done, n_all)
