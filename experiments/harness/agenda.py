"""Which cell may start next: chains side by side, the cells of one chain one after the other."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from experiments.harness.cells import SKIPPED, TIME_LIMIT, Cell, Outcome
from experiments.harness.journal import Journal


@dataclass
class Chain:
    """Cells in order; ``cut`` once one has hit its limit. A cell on its own is a chain of one."""

    cells: deque[Cell] = field(default_factory=deque)
    cut: bool = False


class Agenda:
    """Hands out the cells that the journal lacks; ``skip`` is called with those after a time limit."""

    def __init__(self, cells: Sequence[Cell], journal: Journal, skip: Callable[[Cell], None]) -> None:
        self._journal = journal
        self._skip = skip
        chains: dict[tuple[str, str], Chain] = {}
        for cell in cells:
            name = ("cell", cell.key) if cell.chain is None else ("chain", cell.chain)
            chains.setdefault(name, Chain()).cells.append(cell)
        self._ready = deque(chains.values())

    def take(self) -> tuple[Chain, Cell] | None:
        """A cell to run and its chain, which rests until ``give_back``; None if there is none now."""
        while self._ready:
            chain = self._ready.popleft()
            cell = self._next_cell(chain)
            if cell is not None:
                return chain, cell
        return None

    def give_back(self, chain: Chain, outcome: Outcome) -> None:
        """The chain may go on. It does so first: what is left of a chain is often the longest wait."""
        chain.cut = chain.cut or outcome.status == TIME_LIMIT
        self._ready.appendleft(chain)

    def _next_cell(self, chain: Chain) -> Cell | None:
        while chain.cells:
            cell = chain.cells.popleft()
            known = self._journal.outcome(cell) if self._journal.finished(cell) else None
            if known is not None and known.status == TIME_LIMIT:
                chain.cut = True
            elif known is None or (known.status == SKIPPED and not chain.cut):
                # A cell that was skipped is due when the easier one, with more time, has got through.
                if not chain.cut:
                    return cell
                self._skip(cell)
        return None


def check_distinct(cells: Sequence[Cell]) -> None:
    """Two cells with one key would share an outcome."""
    twice = [key for key, count in Counter(cell.key for cell in cells).items() if count > 1]
    if twice:
        msg = f"Expected distinct cells, got {len(twice)} more than once, such as {twice[0]}; drop the copies"
        raise ValueError(msg)
