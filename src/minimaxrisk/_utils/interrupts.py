"""Ctrl-C while there is something to keep: it waits until that is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class _Watch:
    """The handler of interrupts inside ``held_back``."""

    def __init__(self, before: Callable[[int, FrameType | None], Any]) -> None:
        self.before, self.is_held, self.has_come = before, True, False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Note the interrupt, or pass it on; if that raises, others wait while it ends the work."""
        if self.is_held:
            self.has_come = True
            return
        self.is_held, self.has_come = True, False
        self.before(number, frame)
        self.is_held = False

    def pass_on(self) -> None:
        """Pass on what was noted."""
        if self.has_come:
            self.is_held = False
            self(signal.SIGINT, None)


@contextmanager
def held_back() -> Iterator[None]:
    """Deliver interrupts when the block has ended; may be nested.

    Only the main thread receives any. Elsewhere, and where none would raise an exception, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = before if isinstance(before, _Watch) else _Watch(before)
    was_held = watch.is_held and watch is before
    watch.is_held = True
    signal.signal(signal.SIGINT, watch)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        watch.is_held = was_held
        if not was_held:
            watch.pass_on()


@contextmanager
def let_through() -> Iterator[None]:
    """Deliver interrupts at once inside ``held_back``: for work whose caller catches them."""
    watch = signal.getsignal(signal.SIGINT)
    if not isinstance(watch, _Watch) or threading.current_thread() is not threading.main_thread():
        yield
        return
    was_held, watch.is_held = watch.is_held, False
    try:
        watch.pass_on()
        yield
    finally:
        watch.is_held = was_held
