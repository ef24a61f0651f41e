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
    """What a user says about a data file that does not speak for itself.

    All but ``as_text`` are options of the command line, by the same names. None leaves the matter to what the
    file shows.

    Parameters
    ----------
    delimiter : str or None, default=None
        What stands between the cells of a text file: one character, or a word such as ``"tab"``.
    header : bool or None, default=None
        Whether the first line names the columns.
    samples : str or None, default=None
        The column with the names of the samples.
    transpose : bool, "auto" or None, default=None
        Whether the file has features in rows and samples in columns; ``"auto"`` goes by what the file shows,
        as None does, and says what it decided.
    sheet : str or None, default=None
        The sheet of a workbook.
    labels_sheet : str or None, default=None
        The sheet with the labels.
    layer : str or None, default=None
        The layer of an ``.h5ad`` file, or the variable of an ``.npz`` or ``.mat`` file.
    skip_lines : int, default=0
        Lines above the table, of text files and workbooks.
    duplicates : {"error", "mean", "max", "suffix"}, default="error"
        What features of the same name become.
    as_text : frozenset of str, default=frozenset()
        Columns to keep as they are written, so that 01 and 1 are two values; ``"*"`` means all.

    Raises
    ------
    ValueError
        If ``delimiter`` is neither one character nor a known word, or ``transpose`` something else.

    Examples
    --------
    >>> from minimaxrisk.files import ReadOptions
    >>> ReadOptions(delimiter="tab").delimiter
    '\\t'
    """

    delimiter: str | None = None
    header: bool | None = None
    samples: str | None = None
    transpose: bool | str | None = None
    sheet: str | None = None
    labels_sheet: str | None = None
    layer: str | None = None
    skip_lines: int = 0
    duplicates: str = ERROR
    as_text: frozenset[str] = frozenset()

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
