"""Sets of items that one command runs: the paper's, those about the guarantees, and the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.harness.reporting import Item
from experiments.items import (
    ACCURACY_ITEMS,
    GUARANTEE_ITEMS,
    PAPER_ITEMS,
    RIVAL_ITEMS,
    SCALE_ITEMS,
    SECOND_PAPER_ITEMS,
)


@dataclass(frozen=True)
class Suite:
    """Items by name, and what the summary says before it comes to them."""

    introduction: str
    items: Mapping[str, Item]


# Each difference once: the setting, the paper's text, the authors' scripts, our default, what it changes.
SETTINGS_TOLD = (
    (
        "coding of two classes",
        "one-hot, Eq. (1)",
        "one block",
        'one block; `coding="one-hot"`',
        "R*: Colon .2426, one-hot .2661; Prostate_GE .1459, .1646; Arcene .2024, .1917 (Table 2)",
    ),
    (
        "intercept",
        "none",
        "yes; none on random Fourier features",
        "yes; `fit_intercept=False`",
        "together with coding and SELECT: the last column of the settings in Table 2",
    ),
    (
        "standardised columns",
        "not said",
        "yes, before the folds; not for random Fourier features",
        "yes, inside each fold; `standardize=False`",
        "errors: nothing of a test fold is seen",
    ),
    (
        "SELECT where R^k stands still",
        "the largest violations enter, features with room leave",
        "not checked",
        'in-out separation, none leaves; `select="as-printed"`',
        "Dorothea at k_max = 10: .0755, as printed .0769; elsewhere nearly nothing",
    ),
    ("k_max", "10", "20", "10, in Table 3 also 20", "Arcene: how many features, and their errors (Table 3)"),
    (
        "initial subset",
        "correlation or first-order",
        "first-order, to judge by Table 3",
        "correlation, in Table 3 both",
        "what is reached at k_max; never R* itself",
    ),
    (
        "features of RFE, MRMR and ANOVA",
        "as many as SVM-CG",
        "as many as MRC-CG",
        "as many as SVM-CG",
        "their errors in Table 3",
    ),
    ("linear programs", "not said", "Gurobi", "HiGHS, which solves the dual", "time"),
)
_HEADER = ("setting", "paper's text", "authors' scripts", "here by default", "what it changes")
_TABLE = "\n".join(f"| {' | '.join(line)} |" for line in (_HEADER, ["---"] * len(_HEADER), *SETTINGS_TOLD))

PAPER_INTRODUCTION = f"""\
# The paper's experiments, measured again

The tables and figures of K. Bondugula, S. Mazuelas and A. Pérez, *Efficient Learning of Minimax Risk
Classifiers in High Dimensions* (UAI 2023), from this library's own implementations on the data sets that
were at hand, beside the printed numbers. Written by `python -m experiments paper`.

MRC-CG is the paper's constraint generation, MRC-LP the linear program with all features, SVM-CG the L1
support vector machine by column generation (`experiments/paper/l1_svm.py`). MRC-IP, a further column
everywhere, is this library's interior point; the paper has none. All linear programs are solved by HiGHS,
where the authors used Gurobi.

Where nothing else is said under an item, n_max, ε, k_max, folds and repetitions are those of the paper's
text. The rest is told here once.

{_TABLE}
What stands behind ± is one standard deviation. A claim about errors fails where a difference exceeds two
standard errors of the paired difference, given five folds or more; what the paper calls competitive is given
as the measured ratio.
"""

SECOND_PAPER_INTRODUCTION = """\
# The authors' next paper, measured here

K. Bondugula, S. Mazuelas and A. Pérez, *Efficient Large-Scale Learning of Minimax Risk Classifiers* (ICDM
2025, arXiv 2511.17626), on four of its data sets and scikit-learn's digits. MRC-CCG, which generates
constraints and columns of the linear program, is `ConstraintAndColumnGeneration`, MRC-LP the whole program,
both by HiGHS; `default` is this library's default. Written by `python -m experiments second-paper`.
"""

GUARANTEES_INTRODUCTION = """\
# What the guarantees are worth

R* bounds the error of the randomized rule for every distribution on the training instances whose feature
means lie within the radii. How often do the true means lie there, how far above the true error is the bound
then, and what would R* be if there was nothing to learn? Measured on simulated laws whose true means are
known, and on the data sets that were at hand. Written by `python -m experiments guarantees`; the paper
has none of it.

`bootstrap` is the radius rule that comes with a coverage; a plain number s, such as the paper's s = 1, comes
with none. `error_bound` is a hold-out: its bound concerns the same method, trained on half of the samples.
The last items are R* over all radii, and how many features of a list are related to the class.
"""

ACCURACY_INTRODUCTION = """\
# Who errs least

Cross-validated errors of this library's classifiers and of what people use on such data, with and without
columns clipped at two robust standard deviations. Written by `python -m experiments accuracy`.
"""

RIVALS_INTRODUCTION = """\
# Against other solvers and learners

How long a fit takes, what it reaches and what it costs, for the solvers of this library and for what else
one could use. Written by `python -m experiments rivals`; what is compared and how it is measured is said in
`docs/results/benchmarks.md`.
"""

SCALE_INTRODUCTION = """\
# Large data

What a fit takes where a copy of the data would not be had. Written by `python -m experiments scale`;
`docs/results/large_data.md` says what is measured.
"""

# By the names that the command knows them by.
SUITES = {
    "paper": Suite(PAPER_INTRODUCTION, PAPER_ITEMS),
    "second-paper": Suite(SECOND_PAPER_INTRODUCTION, SECOND_PAPER_ITEMS),
    "guarantees": Suite(GUARANTEES_INTRODUCTION, GUARANTEE_ITEMS),
    "accuracy": Suite(ACCURACY_INTRODUCTION, ACCURACY_ITEMS),
    "rivals": Suite(RIVALS_INTRODUCTION, RIVAL_ITEMS),
    "scale": Suite(SCALE_INTRODUCTION, SCALE_ITEMS),
}

# Workers and journals know items by name alone.
EVERY_ITEM = {name: item for suite in SUITES.values() for name, item in suite.items.items()}
