"""What the caller asks a file for: it decides how the table is read, and what errors advise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from minimaxrisk.files.label_table import LabelTable
from minimaxrisk.files.options import ReadOptions
from minimaxrisk.files.problems import listed


@dataclass(frozen=True)
class ReadRequest:
    """Names that the caller gives; only commands that make a model have --target and --ignore."""

    where: Path
    target: str | None
    ignore: Sequence[str]
    options: ReadOptions
    labels: LabelTable | None = None
    features: Collection[str] = ()  # of the model that the table is for
    beside: Sequence[str] = ()  # columns about the samples, such as their patients, that are no features

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
        return f"the column {self.target!r} that --target names"
