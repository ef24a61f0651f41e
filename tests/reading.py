"""Small files for tests: written as they are given, and read as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from minimaxrisk.app.files import ReadOptions, Study, read_study_for_model, read_training_study

Content = str | bytes | Callable[[Path], object]
READING = {field.name for field in fields(ReadOptions)}


def write(folder: Path, files: Content | Mapping[str, Content]) -> Path:
    """Write the files; one without a name is called t.csv. Returns the path of the first."""
    named = files if isinstance(files, Mapping) else {"t.csv": files}
    for name, content in named.items():
        if callable(content):
            content(folder / name)
        else:
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / next(iter(named))


def read(folder: Path, files: Content | Mapping[str, Content], **asked: Any) -> Study:
    """The study of the first file, for a model where ``features`` are asked for.

    A file called l with any ending has the labels; the target is then its only column, else ``class``.
    """
    path = write(folder, files)
    names = [name for name in files if name.startswith("l.")] if isinstance(files, Mapping) else []
    labels = folder / names[0] if names else None
    options = ReadOptions(**{name: asked.pop(name) for name in READING.intersection(asked)})
    if "features" in asked:
        features = asked.pop("features")
        return read_study_for_model(path, feature_names=features, labels=labels, options=options, **asked)
    asked.setdefault("target", None if names else "class")
    return read_training_study(path, labels=labels, options=options, **asked)
