"""The thirteen data sets of the paper's Table 1: their shapes, where to get them, and who measured them.

The addresses were collected by hand and none could be tried when this was written; the hashes of the raw
files are unknown too (``sha256=None``). A fetched table is therefore checked by its shape, its number of
classes and whether its values look measured rather than discretised.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import DataMatrix

FEW_VALUES = 5  # a row of measured values has more distinct ones than this; a discretised row has not
SKFEATURE = "https://jundongl.github.io/scikit-feature/"
AUTHORS = "MachineLearningBCAM/Constraint-Generation-for-MRCs-UAI-2023"
ELVIRA = "https://leo.ugr.es/elvira/DBCRepository/"
UNSTATED = "The collection states no licence; ask its owners before you redistribute the file."
UCI_LICENCE = "The UCI repository lists its data sets under CC BY 4.0; see the page of this one."
CHALLENGE = (
    "I. Guyon, S. Gunn, A. Ben-Hur, G. Dror. Result analysis of the NIPS 2003 feature selection challenge. "
    "Advances in Neural Information Processing Systems 17, 2004"
)


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set of the paper: its shape, its sources and the study it comes from.

    Attributes
    ----------
    number : int
        Its line in the paper's Table 1.
    name : str
        Its name there.
    n_samples, n_features, n_classes : int
        Its shape.
    url : str or None
        Where it can be downloaded; None where no address is known.
    file : str
        What the file is called there.
    format : str
        How the file is written: ``"mat"``, ``"csv"`` or ``"nips2003"``.
    source : str
        The collection that it comes from.
    licence : str
        What the collection says about its use.
    reference : str
        The publication of those who measured it.
    homepage : str
        A page about it, for people.
    note : str
        What one should know before using it; often empty.
    sha256 : str or None
        Digest of the file; None where it is not known.
    binary : bool
        Whether its features take two values only, so that few distinct values are no sign of another table.
    """

    number: int
    name: str
    n_samples: int
    n_features: int
    n_classes: int
    url: str | None
    file: str
    format: str
    source: str
    licence: str
    reference: str
    homepage: str
    note: str = ""
    sha256: str | None = None
    binary: bool = False

    def check(self, X: DataMatrix, n_classes: int, where: object) -> None:
        """Refuse a table that cannot be this data set.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            Its features.
        n_classes : int
            The number of its classes.
        where : object
            The file that it was read from, for the message.

        Raises
        ------
        ValueError
            If its shape is another one, or if its values look discretised.
        """
        expected = f"{self.n_samples} samples, {self.n_features} features and {self.n_classes} classes"
        if (*X.shape, n_classes) != (self.n_samples, self.n_features, self.n_classes):
            raise ValueError(
                f"{where} is not {self.name}: expected {expected}, got {X.shape[0]} samples, {X.shape[1]} "
                f"features and {n_classes} classes. {self.note}".rstrip()
            )
        row = X[[0]].toarray() if sparse.issparse(X) else X[0]
        distinct = len(np.unique(row))
        if not self.binary and self.n_features > FEW_VALUES >= distinct:
            raise ValueError(
                f"{where} is not {self.name}: its shape is right, but its first sample has only {distinct} "
                "distinct values, so the table looks discretised; expected measured values. "
                f"{self.note}".rstrip()
            )


def dataset_info(name: str) -> DatasetInfo:
    """Tell what is known of a data set of the paper.

    Parameters
    ----------
    name : str
        Its name in the paper's Table 1, such as ``"Colon"``.

    Returns
    -------
    DatasetInfo
        Its shape, its sources and the study it comes from.

    Raises
    ------
    ValueError
        If the paper has no such data set.

    Examples
    --------
    >>> from minimaxrisk.datasets import dataset_info
    >>> colon = dataset_info("Colon")
    >>> colon.n_samples, colon.n_features
    (62, 2000)
    """
    if name not in REGISTRY:
        raise ValueError(
            f"unknown data set {name!r}; the paper has {', '.join(REGISTRY)}.{near_match(name, REGISTRY)}"
        )
    return REGISTRY[name]


def near_match(name: str, names: Iterable[str]) -> str:
    """A sentence that offers the name that was probably meant, or nothing."""
    by_lower = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def _skfeature(
    number: int, name: str, shape: tuple[int, int, int], reference: str, *, file: str = "", note: str = ""
) -> DatasetInfo:
    """A table of the scikit-feature collection."""
    file = file or f"{name}.mat"
    return DatasetInfo(
        number, name, *shape,
        url=f"{SKFEATURE}files/datasets/{file}", file=file, format="mat",
        source="scikit-feature collection, Arizona State University", licence=UNSTATED,
        reference=reference, homepage=f"{SKFEATURE}datasets.html", note=note,
    )  # fmt: skip


def _uci(
    number: int, name: str, shape: tuple[int, int, int], page: int, *, note: str, binary: bool = False
) -> DatasetInfo:
    """A table of the NIPS 2003 challenge, from the UCI repository."""
    file = f"{name.lower()}.zip"
    return DatasetInfo(
        number, name, *shape,
        url=f"https://archive.ics.uci.edu/static/public/{page}/{file}", file=file, format="nips2003",
        source="UCI Machine Learning Repository, NIPS 2003 feature selection challenge",
        licence=UCI_LICENCE, reference=CHALLENGE,
        homepage=f"https://archive.ics.uci.edu/dataset/{page}/{name.lower()}",
        note=f"Training rows, then validation rows; the test labels are not public. {note}", binary=binary,
    )  # fmt: skip


def _authors(
    number: int, name: str, shape: tuple[int, int, int], reference: str, *, file: str, note: str
) -> DatasetInfo:
    """A table that the paper's authors keep beside their code."""
    return DatasetInfo(
        number, name, *shape,
        url=f"https://raw.githubusercontent.com/{AUTHORS}/main/Datasets/{file}", file=file, format="csv",
        source="repository of the paper's authors", licence=UNSTATED, reference=reference,
        homepage=f"https://github.com/{AUTHORS}", note=note,
    )  # fmt: skip


def _by_hand(
    number: int, name: str, shape: tuple[int, int, int], reference: str, *, note: str
) -> DatasetInfo:
    """A table without a direct address that we could vouch for."""
    return DatasetInfo(
        number, name, *shape,
        url=None, file=f"{name}.csv", format="csv", source="no direct address known", licence=UNSTATED,
        reference=reference, homepage=ELVIRA, note=note,
    )  # fmt: skip


_TABLE_1 = (
    _uci(1, "Arcene", (200, 10000, 2), 167, note="Mass spectra of cancer patients and healthy people."),
    _authors(
        2, "Colon", (62, 2000, 2),
        "U. Alon et al. Broad patterns of gene expression revealed by clustering analysis of tumor and "
        "normal colon tissues probed by oligonucleotide arrays. PNAS 96(12), 6745-6750, 1999",
        file="colon.csv.zip",
        note="The colon.mat of the scikit-feature collection is discretised to -2, 0, 2 and cannot be used.",
    ),
    _skfeature(
        3, "CLL_SUB_111", (111, 11340, 3),
        "C. Haslinger et al. Microarray gene expression profiling of B-cell chronic lymphocytic leukemia "
        "subgroups defined by genomic aberrations and VH mutation status. Journal of Clinical Oncology "
        "22(19), 3937-3949, 2004",
    ),
    _uci(
        4, "Dorothea", (1150, 100000, 2), 169, binary=True,
        note="Sparse and binary: structures of molecules; from the KDD Cup 2001, given by DuPont.",
    ),
    _skfeature(
        5, "GLI_85", (85, 22283, 2),
        "W. A. Freije et al. Gene expression profiling of gliomas strongly predicts survival. "
        "Cancer Research 64(18), 6503-6510, 2004",
    ),
    _skfeature(
        6, "GLIOMA", (50, 4434, 4),
        "C. L. Nutt et al. Gene expression-based classification of malignant gliomas correlates better with "
        "survival than histological classification. Cancer Research 63(7), 1602-1607, 2003",
    ),
    _skfeature(
        7, "Leukemia", (72, 7129, 2),
        "T. R. Golub et al. Molecular classification of cancer: class discovery and class prediction by "
        "gene expression monitoring. Science 286(5439), 531-537, 1999",
        file="ALLAML.mat",
        note="In the scikit-feature collection this table is ALLAML.mat; its leukemia.mat is another, "
        "discretised table of 7070 columns.",
    ),
    _by_hand(
        8, "Lung", (203, 12600, 5),
        "A. Bhattacharjee et al. Classification of human lung carcinomas by mRNA expression profiling "
        "reveals distinct adenocarcinoma subclasses. PNAS 98(24), 13790-13795, 2001",
        note="The lung.mat of the scikit-feature collection has only 3312 of the genes.",
    ),
    _authors(
        9, "MLL", (72, 12582, 3),
        "S. A. Armstrong et al. MLL translocations specify a distinct gene expression profile that "
        "distinguishes a unique leukemia. Nature Genetics 30(1), 41-47, 2002",
        file="MLL.csv.zip", note="",
    ),
    _by_hand(
        10, "Ovarian", (253, 15154, 2),
        "E. F. Petricoin et al. Use of proteomic patterns in serum to identify ovarian cancer. "
        "The Lancet 359(9306), 572-577, 2002",
        note="Proteomic mass spectra: 162 ovarian cancers and 91 controls.",
    ),
    _skfeature(
        11, "Prostate_GE", (102, 5966, 2),
        "D. Singh et al. Gene expression correlates of clinical prostate cancer behavior. "
        "Cancer Cell 1(2), 203-209, 2002",
    ),
    _skfeature(
        12, "SMK_CAN_187", (187, 19993, 2),
        "A. Spira et al. Airway epithelial gene expression in the diagnostic evaluation of smokers with "
        "suspect lung cancer. Nature Medicine 13(3), 361-366, 2007",
    ),
    _skfeature(
        13, "TOX_171", (171, 5748, 4),
        "The collection does not name the study. J. Li et al. Feature selection: a data perspective. "
        "ACM Computing Surveys 50(6), 2017",
    ),
)  # fmt: skip

REGISTRY: dict[str, DatasetInfo] = {info.name: info for info in _TABLE_1}
