"""Cases and controls: limits class by class, and for the mixture of classes where a model will be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.harness.cells import OK, Cell
from experiments.harness.reporting import Claim, Item, Report, Row, TextTable, pick, verdict
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from minimaxrisk.guarantees.error_bound import error_bound
from minimaxrisk.guarantees.limits import clopper_pearson_limit

NAME = "prevalence"
SAMPLES = (60, 100, 200)
N_STUDIES, N_TRUTH = 300, 2000  # the latter of each class
# What may be wrong, and what it is stated with.
OWN, MIXTURE, CLASSES, VALUES = "own mixture", "prevalence", "a class", "a predictive value"
WORST = "the worst class"
Data = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Setting:
    """How classes are drawn for the study, how common they are elsewhere, and the instances of a class."""

    shares: tuple[float, ...]
    prevalence: tuple[float, ...]
    instances: Callable[[np.ndarray, np.random.RandomState], np.ndarray]
    fewest: int = 0  # classes with fewer samples are left out

    def study(self, n: int, random: np.random.RandomState) -> Data:
        """Labels by design, or drawn where rare classes are left out."""
        y = np.repeat(np.arange(len(self.shares)), np.round(n * np.array(self.shares)).astype(int))
        if self.fewest:
            y = random.choice(len(self.shares), n, p=self.shares)
            y = y[np.bincount(y)[y] >= self.fewest]
        return self.instances(y, random), y


def _spread(y: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """The controls vary more, so that more of them are misclassified."""
    X = random.standard_normal((len(y), 30)) * np.where(y == 1, 0.5, 1.3)[:, None]
    X[:, :3] += 1.1 * y[:, None]
    return X


def _heavy(y: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    X = random.standard_t(3, (len(y), 20)) * np.where(y == 1, 1.5, 0.8)[:, None]
    X[:, :4] += 1.5 * y[:, None]
    return X


def _several(y: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Every class has columns of its own."""
    means = 0.6 * np.random.RandomState(0).standard_normal((10, 40))
    return means[y] + random.standard_normal((len(y), 40)) * (1.0 + 0.4 * (y[:, None] % 3))


SETTINGS = {
    "1 : 1, clinic 5 : 95": Setting((0.5, 0.5), (0.95, 0.05), _spread),
    "1 : 1, clinic 2 : 98, heavy tails": Setting((0.5, 0.5), (0.98, 0.02), _heavy),
    "three classes 1 : 1 : 1, clinic 70 : 25 : 5": Setting((1 / 3,) * 3, (0.7, 0.25, 0.05), _several),
    "eight classes, rare ones left out": Setting(
        (0.4, 0.36, *(0.04,) * 6), (0.4, 0.36, *(0.04,) * 6), _several, fewest=5
    ),
}


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    return [
        Cell(
            NAME,
            {
                "setting": name,
                "n_samples": n,
                "count": 2 if settings.is_quick else N_STUDIES,
                "seed": settings.seed,
            },
            settings.limit,
        )
        for name in SETTINGS
        for n in (SAMPLES[:1] if settings.is_quick else SAMPLES)
    ]


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    setting = SETTINGS[settings["setting"]]
    found = []
    for k in range(settings["count"]):
        random = np.random.RandomState([settings["seed"], settings["n_samples"], k])
        try:
            found.append(_one_study(setting, settings["n_samples"], random))
        except ValueError:  # the half to fit on lacks a class
            continue
    return [
        {
            "studies": len(found),
            **{name: sum(one[name] for one in found) for name in (OWN, MIXTURE, CLASSES, VALUES)},
            WORST: int(np.sum([one[WORST] for one in found], axis=0).max()),
            **{
                name: float(np.mean([one[name] for one in found])) for name in ("limit", "own limit", "error")
            },
        }
    ]


def _one_study(setting: Setting, n: int, random: np.random.RandomState) -> dict[str, Any]:
    X, y = setting.study(n, random)
    shares = dict(enumerate(setting.prevalence))
    learner = make_pipeline(StandardScaler(), RidgeClassifier(alpha=10.0))
    found = error_bound(learner, X, y, prevalence=shares, random_state=random)
    own_limit = clopper_pearson_limit(found.n_errors, found.n_test, 0.95)
    named = np.zeros((len(shares), len(shares)))  # how often samples of a class (row) are named each
    for k in shares:
        predictions = found.model.predict(setting.instances(np.full(N_TRUTH, k), random))
        named[k] = np.bincount(predictions, minlength=len(shares)) / N_TRUTH
    errors = 1.0 - np.diag(named)
    weights = np.array(setting.prevalence)
    mass = weights @ named
    true_values = {k: weights[k] * named[k, k] / mass[k] for k in shares if mass[k] > 0.0}
    each = [one.value < errors[one.label] for one in sorted(found.per_class, key=lambda one: one.label)]
    error = float(weights @ errors)
    return {
        OWN: bool(own_limit < error),
        MIXTURE: bool(found.value < error),
        CLASSES: any(each),
        WORST: each,
        VALUES: any(value > true_values.get(k, 1.0) for k, value in found.predictive_values.items()),
        "limit": found.value,
        "own limit": own_limit,
        "error": error,
    }


def report(settings: Settings, sources: Sources, rows: Sequence[Row]) -> Report:
    known = pick(rows, status=OK)
    names = (MIXTURE, VALUES)
    held = [row[name] <= stats.binom.ppf(0.99, row["studies"], 0.05) for row in known for name in names]
    each = [row[WORST] <= stats.binom.ppf(0.99, row["studies"], 0.05) for row in known]
    total = sum(row["studies"] for row in known)
    lines = [
        [
            row["setting"],
            *(str(row[name]) for name in ("n_samples", "studies", OWN, MIXTURE, CLASSES, WORST, VALUES)),
            *(f"{float(row[name]):.3f}" for name in ("own limit", "limit", "error")),
        ]
        for row in known
    ]
    return Report(
        claims=[
            Claim(
                "The limit for a given prevalence holds with 95%, and so do all predictive values at once.",
                verdict(held),
                f"Wrong in {', '.join(f'{sum(row[name] for row in known)} ({name})' for name in names)} of "
                f"{total} studies; the limit of the study's own mixture in {sum(row[OWN] for row in known)}.",
            ),
            Claim(
                "The limit of each class, such as of the sensitivity, holds with 95% on its own.",
                verdict(each),
                "At most " + "; ".join(f"{row[WORST]} of {row['studies']}" for row in known) + ".",
            ),
        ],
        tables=[
            TextTable(
                "Studies in which a limit was wrong: below the error where the model is used.",
                [
                    *("setting", "samples", "studies", OWN, MIXTURE, CLASSES, WORST, VALUES),
                    *("mean limit, own mixture", "mean limit, prevalence", "mean error there"),
                ],
                lines,
            )
        ],
        notes=[
            "Hold-outs of one half at 95%, ridge classifiers of standardised columns. Classes that were left "
            "out are in the prevalence, and always misclassified."
        ],
    )


ITEM = Item(
    name=NAME,
    title="Cases and controls",
    what="How often limits are wrong where classes are not as common as in the study.",
    is_timed=False,
    plan=plan,
    work=work,
    report=report,
)
