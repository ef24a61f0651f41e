"""The numbers that the paper prints: Tables 1 to 3 of its section on results.

Data sets are known by their numbers in Table 1. Errors are fractions, times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MeanAndDeviation:
    """A mean with its standard deviation."""

    mean: float
    sd: float


@dataclass(frozen=True)
class DataSet:
    """A line of Table 1."""

    name: str
    variables: int
    samples: int
    classes: int


@dataclass(frozen=True)
class Assessment:
    """A line of Table 2: worst-case error of MRC-CG, its cross-validated error, and the training times."""

    worst_case_error: float
    error: MeanAndDeviation
    mrc_seconds: MeanAndDeviation
    svm_seconds: MeanAndDeviation


@dataclass(frozen=True)
class Selection:
    """One method on one data set of Table 3: errors of logistic regression and of a decision tree.

    The number of features is printed for MRC-CG and SVM-CG only; the other methods take that of SVM-CG.
    """

    lr: MeanAndDeviation
    dt: MeanAndDeviation
    n_features: MeanAndDeviation | None = None


# Short, for the tables.
M = MeanAndDeviation

METHODS = ("MRC-CG", "SVM-CG", "RFE", "MRMR", "ANOVA")

TABLE_1 = {
    1: DataSet("Arcene", 10000, 200, 2),
    2: DataSet("Colon", 2000, 62, 2),
    3: DataSet("CLL_SUB_111", 11340, 111, 3),
    4: DataSet("Dorothea", 100000, 1150, 2),
    5: DataSet("GLI_85", 22283, 85, 2),
    6: DataSet("GLIOMA", 4434, 50, 4),
    7: DataSet("Leukemia", 7129, 72, 2),
    8: DataSet("Lung", 12600, 203, 5),
    9: DataSet("MLL", 12582, 72, 3),
    10: DataSet("Ovarian", 15154, 253, 2),
    11: DataSet("Prostate_GE", 5966, 102, 2),
    12: DataSet("SMK_CAN_187", 19993, 187, 2),
    13: DataSet("TOX_171", 5748, 171, 4),
}

TABLE_2 = {
    1: Assessment(0.20, M(0.30, 0.10), M(3.56, 0.04), M(8.25, 0.54)),
    2: Assessment(0.24, M(0.13, 0.12), M(0.20, 0.02), M(0.58, 0.07)),
    3: Assessment(0.16, M(0.15, 0.09), M(6.84, 0.04), M(3.55, 0.35)),
    4: Assessment(0.07, M(0.07, 0.01), M(31.4, 0.64), M(220, 10.5)),
    5: Assessment(0.13, M(0.18, 0.17), M(1.50, 0.07), M(1.36, 0.18)),
    6: Assessment(0.18, M(0.38, 0.20), M(4.55, 0.02), M(2.58, 0.24)),
    7: Assessment(0.11, M(0.02, 0.05), M(0.70, 0.05), M(0.37, 0.08)),
    8: Assessment(0.15, M(0.05, 0.05), M(44.9, 0.96), M(16.6, 0.76)),
    9: Assessment(0.11, M(0.04, 0.06), M(5.06, 0.03), M(1.45, 0.20)),
    10: Assessment(0.10, M(0.00, 0.00), M(3.86, 0.26), M(3.35, 0.32)),
    11: Assessment(0.14, M(0.08, 0.07), M(0.79, 0.09), M(1.00, 0.10)),
    12: Assessment(0.23, M(0.25, 0.11), M(2.65, 0.13), M(8.9, 0.63)),
    13: Assessment(0.18, M(0.03, 0.03), M(17.7, 0.21), M(10.5, 0.22)),
}

TABLE_3 = {
    1: {
        "MRC-CG": Selection(M(0.29, 0.10), M(0.33, 0.06), M(172, 3)),
        "SVM-CG": Selection(M(0.27, 0.11), M(0.41, 0.09), M(150, 3)),
        "RFE": Selection(M(0.28, 0.05), M(0.31, 0.12)),
        "MRMR": Selection(M(0.31, 0.10), M(0.39, 0.12)),
        "ANOVA": Selection(M(0.27, 0.07), M(0.31, 0.09)),
    },
    2: {
        "MRC-CG": Selection(M(0.20, 0.10), M(0.19, 0.10), M(33, 2)),
        "SVM-CG": Selection(M(0.19, 0.10), M(0.22, 0.13), M(32, 1)),
        "RFE": Selection(M(0.24, 0.11), M(0.20, 0.10)),
        "MRMR": Selection(M(0.22, 0.10), M(0.29, 0.17)),
        "ANOVA": Selection(M(0.22, 0.08), M(0.26, 0.16)),
    },
    5: {
        "MRC-CG": Selection(M(0.23, 0.13), M(0.17, 0.12), M(76, 0)),
        "SVM-CG": Selection(M(0.14, 0.07), M(0.29, 0.11), M(51, 2)),
        "RFE": Selection(M(0.20, 0.11), M(0.31, 0.13)),
        "MRMR": Selection(M(0.14, 0.12), M(0.20, 0.11)),
        "ANOVA": Selection(M(0.13, 0.10), M(0.20, 0.09)),
    },
    7: {
        "MRC-CG": Selection(M(0.04, 0.06), M(0.12, 0.09), M(63, 1)),
        "SVM-CG": Selection(M(0.02, 0.05), M(0.15, 0.12), M(37, 2)),
        "RFE": Selection(M(0.05, 0.06), M(0.16, 0.18)),
        "MRMR": Selection(M(0.04, 0.06), M(0.15, 0.16)),
        "ANOVA": Selection(M(0.04, 0.06), M(0.16, 0.12)),
    },
    10: {
        "MRC-CG": Selection(M(0.00, 0.00), M(0.02, 0.02), M(118, 6)),
        "SVM-CG": Selection(M(0.00, 0.00), M(0.01, 0.02), M(33, 2)),
        "RFE": Selection(M(0.00, 0.00), M(0.03, 0.02)),
        "MRMR": Selection(M(0.00, 0.00), M(0.02, 0.04)),
        "ANOVA": Selection(M(0.00, 0.00), M(0.01, 0.02)),
    },
    11: {
        "MRC-CG": Selection(M(0.08, 0.06), M(0.16, 0.08), M(77, 2)),
        "SVM-CG": Selection(M(0.10, 0.08), M(0.13, 0.10), M(45, 1)),
        "RFE": Selection(M(0.10, 0.10), M(0.18, 0.12)),
        "MRMR": Selection(M(0.08, 0.07), M(0.14, 0.12)),
        "ANOVA": Selection(M(0.08, 0.06), M(0.16, 0.14)),
    },
    12: {
        "MRC-CG": Selection(M(0.29, 0.12), M(0.41, 0.11), M(135, 3)),
        "SVM-CG": Selection(M(0.27, 0.09), M(0.37, 0.09), M(127, 4)),
        "RFE": Selection(M(0.33, 0.08), M(0.41, 0.11)),
        "MRMR": Selection(M(0.32, 0.12), M(0.39, 0.09)),
        "ANOVA": Selection(M(0.30, 0.08), M(0.37, 0.09)),
    },
}
