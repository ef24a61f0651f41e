"""What a user may say about a data file when it does not speak for itself."""

from __future__ import annotations

from dataclasses import dataclass

SPOKEN_DELIMITERS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "space": " ",
    "whitespace": " ",
    "pipe": "|",
}


EVERY = "*"
AUTO = "auto"
ERROR, MEAN, MAX, SUFFIX = "error", "mean", "max", "suffix"  # what --duplicates may say


@dataclass(frozen=True)
class ReadOptions:
    """All fields but the last are command-line options; None leaves the matter to what the file shows."""

    delimiter: str | None = None  # --delimiter
    header: bool | None = None  # --header, --no-header
    samples: str | None = None  # --samples, the column with the names of the samples
    transpose: bool | str | None = None  # --transpose yes, no, or auto, which says what it decided
    sheet: str | None = None  # --sheet of a workbook
    labels_sheet: str | None = None  # --labels-sheet, of the workbook with the labels
    layer: str | None = None  # --layer of an .h5ad file; the variable of .npz and .mat
    skip_lines: int = 0  # --skip-lines above the table, of text files and workbooks
    duplicates: str = ERROR  # --duplicates, what features of the same name become
    as_text: frozenset[str] = frozenset()  # columns to keep as they are written, 01 and 1 apart; EVERY: all

    def __post_init__(self) -> None:
        if self.transpose not in (None, AUTO, True, False):
            raise ValueError(f"transpose must be True, False, {AUTO!r} or None, got {self.transpose!r}.")
        if self.delimiter is None:
            return
        delimiter = SPOKEN_DELIMITERS.get(self.delimiter.lower(), self.delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise ValueError(
                f"--delimiter must be one character or a word such as tab, got {self.delimiter!r}; "
                f"the words are {', '.join(name for name in SPOKEN_DELIMITERS if name.isalpha())}."
            )
        object.__setattr__(self, "delimiter", delimiter)

    @property
    def finds_orientation(self) -> bool:
        """Whether the table decides if features are in rows."""
        return self.transpose in (None, AUTO)
