"""How a run shows its progress: a bar on a terminal, a line per cell elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from experiments.harness.cells import OK, Outcome
from experiments.harness.extras import require


@contextmanager
def show_progress(
    total: int, done: int, label: str, stream: TextIO | None = None
) -> Iterator[Callable[[Outcome], None]]:
    """Yields what is to be called with each outcome; ``done`` of the ``total`` were finished before."""
    stream = sys.stderr if stream is None else stream
    if stream.isatty():
        with require("tqdm").tqdm(total=total, initial=done, desc=label, unit="cell", file=stream) as bar:

            def advance(outcome: Outcome) -> None:
                # What went wrong stays visible above the bar.
                if outcome.status != OK:
                    bar.write(in_words(outcome), file=stream)
                bar.update()

            yield advance
        return

    def tell(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        stream.write(f"[{done}/{total}] {in_words(outcome)}\n")
        stream.flush()

    yield tell


def in_words(outcome: Outcome) -> str:
    """One line about an outcome."""
    settings = ", ".join(f"{name}={value}" for name, value in outcome.settings.items())
    text = f"{outcome.item} {settings}: {outcome.status}"
    if outcome.status == OK:
        return f"{text}, {outcome.seconds:.3g} s"
    return f"{text} ({outcome.detail})" if outcome.detail else text
