"""The thirteen data sets of the paper's Table 1: their shapes, where to get them, and who measured them.

``checked`` says how each address was last looked at: none could be downloaded from when this was written, so
that the hashes of the raw files are unknown (``sha256=None``). A table is checked by its shape, its number of
classes, whether its values look measured rather than discretised, and, for the eight with which the results
of this library were measured, by a checksum of its content.
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
REVISION = "eede03bac0a79a35936433680eb2a50841e56bbc"  # a file cannot change below it
ELVIRA = "https://leo.ugr.es/elvira/DBCRepository/"
UNSTATED = "The collection states no licence; ask its owners before you redistribute the file."
UCI_LICENCE = "The UCI repository lists its data sets under CC BY 4.0; see the page of this one."
CHALLENGE = (
    "I. Guyon, S. Gunn, A. Ben-Hur, G. Dror. Result analysis of the NIPS 2003 feature selection challenge. "
    "Advances in Neural Information Processing Systems 17, 2004"
)


LISTED = (
    "November 2026: the file is in the listing of the repository at this revision, and the table with which "
    "results were measured was made from it; the download itself was not tried."
)
QUOTED = "November 2026: not tried; published programs of others download from this address."
BY_HAND = "November 2026: not tried, as no direct address of the table is certain; others cite the homepage."

# Of the tables with which the results were measured; ``experiments.datasets.tables`` says what counts.
CONTENT = {
    "Arcene": "0b526fd17b4997dbcd09241690e87027243ac3b9e6d420e79b863fd49b30fc94",
    "Colon": "fc89562697ba78fb07bb3e8927dc4954ca945d5413d48272014623617a31395b",
    "Dorothea": "ef3b3ee6af1ecd4be077a1c383d69c5fd7e735369ce328094dacd192eae52497",
    "GLIOMA": "715b9276ef977986319be7fb501981109e0736a153e542633d9d1c2bba6bea74",
    "Leukemia": "1c2779ea4e015dd880b1713d5dd463f1c290a873443297828a73827345661f04",
    "MLL": "31f81d68d74f64e6d13ccda8d4eb941dbf80c59b7bf945c2c40ac61e4d01daaa",
    "Prostate_GE": "7ba66a1a16f7d14548d0e6a00beb6fb1ad6e577259139782831e8c767a1a7785",
    "TOX_171": "2efe96a097302d9ae2f96706b4d5659e552db50906d6548bda0402577fe3de97",
}


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
    checked : str
        When and how the address was last looked at.
    note : str
        What one should know before using it; often empty.
    sha256 : str or None
        Digest of the raw file; None where it is not known.
    content_sha256 : str or None
        Digest of the table, whatever its file, with which results were measured; None where there are none.
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
    checked: str
    note: str = ""
    sha256: str | None = None
    content_sha256: str | None = None
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
        reference=reference, homepage=f"{SKFEATURE}datasets.html", checked=QUOTED, note=note,
        content_sha256=CONTENT.get(name),
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
        homepage=f"https://archive.ics.uci.edu/dataset/{page}/{name.lower()}", checked=QUOTED,
        note=f"Training rows, then validation rows; the test labels are not public. {note}", binary=binary,
        content_sha256=CONTENT.get(name),
    )  # fmt: skip


def _authors(
    number: int, name: str, shape: tuple[int, int, int], reference: str, *, file: str, note: str = ""
) -> DatasetInfo:
    """A table that the paper's authors keep beside their code."""
    return DatasetInfo(
        number, name, *shape,
        url=f"https://raw.githubusercontent.com/{AUTHORS}/{REVISION}/Datasets/{file}", file=file,
        format=file.split(".")[1], source="repository of the paper's authors", licence=UNSTATED,
        reference=reference, homepage=f"https://github.com/{AUTHORS}", checked=LISTED, note=note,
        content_sha256=CONTENT.get(name),
    )  # fmt: skip


def _by_hand(
    number: int, name: str, shape: tuple[int, int, int], reference: str, *, note: str
) -> DatasetInfo:
    """A table without a direct address that we could vouch for."""
    return DatasetInfo(
        number, name, *shape,
        url=None, file=f"{name}.csv", format="csv", source="no direct address known", licence=UNSTATED,
        reference=reference, homepage=ELVIRA, checked=BY_HAND, note=note,
    )  # fmt: skip


ALIKE = "The scikit-feature collection has the same table."

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
    _authors(
        6, "GLIOMA", (50, 4434, 4),
        "C. L. Nutt et al. Gene expression-based classification of malignant gliomas correlates better with "
        "survival than histological classification. Cancer Research 63(7), 1602-1607, 2003",
        file="GLIOMA.mat.zip", note=ALIKE,
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
        note="The lung.mat of the scikit-feature collection has only 3312 of the genes. Others name the file "
        "LungCancer/LungCancer-Harvard1.zip of the homepage; it was not seen.",
    ),
    _authors(
        9, "MLL", (72, 12582, 3),
        "S. A. Armstrong et al. MLL translocations specify a distinct gene expression profile that "
        "distinguishes a unique leukemia. Nature Genetics 30(1), 41-47, 2002",
        file="MLL.csv.zip",
    ),
    _by_hand(
        10, "Ovarian", (253, 15154, 2),
        "E. F. Petricoin et al. Use of proteomic patterns in serum to identify ovarian cancer. "
        "The Lancet 359(9306), 572-577, 2002",
        note="Proteomic mass spectra: 162 ovarian cancers and 91 controls.",
    ),
    _authors(
        11, "Prostate_GE", (102, 5966, 2),
        "D. Singh et al. Gene expression correlates of clinical prostate cancer behavior. "
        "Cancer Cell 1(2), 203-209, 2002",
        file="Prostate_GE.mat.zip", note=ALIKE,
    ),
    _skfeature(
        12, "SMK_CAN_187", (187, 19993, 2),
        "A. Spira et al. Airway epithelial gene expression in the diagnostic evaluation of smokers with "
        "suspect lung cancer. Nature Medicine 13(3), 361-366, 2007",
    ),
    _authors(
        13, "TOX_171", (171, 5748, 4),
        "The collection does not name the study. J. Li et al. Feature selection: a data perspective. "
        "ACM Computing Surveys 50(6), 2017",
        file="TOX_171.mat.zip", note=ALIKE,
    ),
)  # fmt: skip

REGISTRY: dict[str, DatasetInfo] = {info.name: info for info in _TABLE_1}
