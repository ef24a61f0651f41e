"""What the caller looks for in a table, which shows how it lies and what to say where it is not there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.problems import listed

if TYPE_CHECKING:
    from minimaxrisk.files.labels_file import LabelBook


@dataclass(frozen=True)
class Wanted:
    """Names that the caller gives; only commands that make a model have --target and --ignore."""

    where: Path
    target: str | None
    ignore: Sequence[str]
    options: ReadOptions
    book: LabelBook | None = None
    features: Collection[str] = ()  # of the model that the table is for

    @property
    def for_model(self) -> bool:
        return bool(self.features)

    def refuse_ignored_features(self) -> None:
        clash = [name for name in self.ignore if name in self.features]
        if clash:
            raise ValueError(f"--ignore cannot leave out a feature of the model, got {listed(clash)}.")

    def target_shown(self) -> str:
        if self.for_model:
            return f"the model's target {self.target!r}"
        return f"the column {self.target!r} of --target"
