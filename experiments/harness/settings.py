"""What a run may choose. The defaults are the paper's text where a budget of hours allows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from experiments.guarantees.laws import N_INFORMATIVE

# What need not be positive numbers.
NOT_POSITIVE = (
    "seed",
    "large_scale_components",
    "datasets",
    "rivals",
    "problems",
    "baseline",
    "is_quick",
    "size_map",
)


@dataclass(frozen=True)
class Settings:
    """Parameters of the methods, sizes of the experiments, and limits."""

    # Parameters that the paper settles on for all but the first two experiments.
    n_max: int = 100
    epsilon: float = 1e-4
    k_max: int = 10
    folds: int = 10
    seed: int = 0
    # Figure 1
    epsilons: tuple[float, ...] = (0.01, 0.001, 0.0001)
    # Figure 2
    n_max_values: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1500)
    n_max_k_max: int = 20
    n_max_repetitions: int = 50
    subsample: float = 0.9
    # Figure 3
    sizes: tuple[int, ...] = (100, 200, 500, 1000, 2000, 5000, 10_000, 25_000)
    scalability_repetitions: int = 20
    # The linear program with all features is much the slowest.
    lp_repetitions: int = 10
    lp_features: int = 25_000
    lp_limit: float = 300.0
    # The second paper: seeds, random Fourier components (0 for none), and processor seconds for one fit.
    large_scale_seeds: int = 3
    large_scale_components: int = 400
    large_scale_limit: float = 600.0
    # Guarantees: the probability that radius rules and limits aim at.
    confidence: float = 0.95
    # Coverage: data sets per law, their size, and for how many of them models are cross-fitted.
    coverage_repetitions: int = 400
    coverage_samples: int = 100
    # Radii alone, without models: data sets for each law and size.
    radius_repetitions: int = 400
    radius_samples: tuple[int, ...] = (8, 12, 20, 40, 100, 400, 2000)
    radius_columns: tuple[int, ...] = (2, 50, 2000)
    # The same for two and more classes.
    classes_repetitions: int = 300
    classes_samples: tuple[int, ...] = (20, 40, 60, 100, 200)
    classes_columns: int = 200
    coverage_features: int = 2000
    # Noise floor: tests on noise and on a signal, permutations of each; permutations on real data.
    noise_tests: int = 200
    # Tests of each kind of data without a signal.
    level_tests: int = 1000
    power_tests: int = 100
    test_permutations: int = 99
    data_permutations: int = 200
    # How often times are measured: of permutation tests and reports in fresh processes, of the path in one.
    time_repetitions: int = 3
    # Path: radii from the smallest to the largest.
    path_radii: int = 20
    # Reliable features: simulated studies of each distribution and size.
    reliable_studies: int = 500
    # Approximate intervals and comparisons: the same.
    interval_studies: int = 50
    # Accuracy: how often the folds are drawn anew.
    accuracy_repetitions: int = 2
    # Benchmark: fits per rival and problem, fewer if they take longer than so many seconds together; seconds
    # for one fit; accuracies are cross-validated where that takes no longer than so many seconds.
    fit_repetitions: int = 15
    fit_seconds: float = 10.0
    fit_limit: float = 120.0
    accuracy_seconds: float = 10.0
    # Simulated studies of growing size: numbers of features for as many samples, and the other way round.
    feature_sweep: tuple[int, ...] = (10_000, 32_000, 100_000, 320_000, 1_000_000)
    feature_sweep_samples: int = 100
    sample_sweep: tuple[int, ...] = (50, 100, 200, 400, 800, 1600)
    sample_sweep_features: int = 2000
    # Many samples of few columns, many classes, documents of sparse words.
    row_sweep: tuple[int, ...] = (200, 2_000, 20_000, 100_000)
    row_sweep_features: int = 200
    class_sweep: tuple[int, ...] = (3, 10, 20, 50)
    class_sweep_samples: int = 300
    class_sweep_features: int = 2000
    document_sweep: tuple[int, ...] = (2_000, 6_000, 20_000)
    document_sweep_words: int = 50_000
    # Sizes n x d x K of dense data, from small to large in all three.
    size_map: tuple[str, ...] = (
        *("100x10000x2", "200x50000x2", "500x20000x5", "1000x10000x2", "1000x10000x5", "2000x5000x2"),
        *("2000x5000x10", "2000x20000x2", "2000x20000x5", "5000x2000x2", "5000x2000x10", "5000x20000x2"),
        *("5000x20000x5", "10000x1000x10", "10000x5000x2", "20000x500x5"),
    )
    # Rivals by name, and problems by name or patterns such as expression-d*; none for all.
    rivals: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    # Reading: columns of the table, and how often it is read.
    table_features: int = 50_000
    table_repetitions: int = 5
    # Past the size of a copy: samples and columns, seconds for a fit, bytes beside X.
    scale_wide: tuple[int, ...] = (200, 2_000_000)
    scale_sparse: tuple[int, ...] = (2_000, 1_000_000)
    scale_tall: tuple[int, ...] = (1_000_000, 100)
    scale_limit: float = 300.0
    scale_memory: float = 8e9
    # Dask: columns of the study that is fitted in memory and in chunks.
    cluster_features: int = 500_000
    # Reports: samples and columns of the simulated studies, and another source tree to measure as well.
    report_classes: tuple[int, ...] = (174, 12_533)
    report_wide: tuple[int, ...] = (500, 20_000)
    baseline: str = ""
    # Any other cell.
    limit: float = 1200.0
    # Data sets to use instead of the paper's.
    datasets: tuple[str, ...] = ()
    # A small run, whose verdicts mean little.
    is_quick: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            values = value if isinstance(value, tuple) else (value,)
            if field.name not in NOT_POSITIVE and not (values and all(v > 0 for v in values)):
                raise ValueError(f"{field.name} must be positive, got {value!r}.")
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}.")
        if not self.subsample < 1.0:
            raise ValueError(f"subsample must be a part of the data, below 1, got {self.subsample}.")
        if not self.confidence < 1.0:
            raise ValueError(f"confidence must be a probability below 1, got {self.confidence}.")
        if self.coverage_samples < 20:
            raise ValueError(
                "coverage_samples must be at least 20, so that both classes occur, got "
                f"{self.coverage_samples}."
            )
        if self.coverage_features < N_INFORMATIVE:
            raise ValueError(
                f"coverage_features must be at least {N_INFORMATIVE}, as many as are informative, got "
                f"{self.coverage_features}."
            )
        if self.path_radii < 2:
            raise ValueError(f"path_radii must be at least 2, one for each end, got {self.path_radii}.")


# What a caller may set, and the defaults.
CHOICES = {field.name: field.default for field in fields(Settings) if field.name != "is_quick"}

# Where the paper's text and the defaults differ.
PAPER: dict[str, Any] = {
    "lp_repetitions": "as many as for the others",
    "lp_limit": "none",
    "large_scale_seeds": 10,
    "large_scale_limit": "none",
}

# Each item in a few minutes, to see that everything works; the numbers are rough.
QUICK = Settings(
    folds=3,
    n_max_values=(10, 100, 1000),
    n_max_repetitions=2,
    sizes=(100, 1000, 5000),
    scalability_repetitions=2,
    lp_repetitions=1,
    lp_features=1000,
    lp_limit=20.0,
    large_scale_seeds=1,
    large_scale_components=10,
    large_scale_limit=20.0,
    coverage_repetitions=20,
    coverage_samples=60,
    radius_repetitions=20,
    radius_samples=(8, 40),
    radius_columns=(2, 50),
    classes_repetitions=5,
    classes_samples=(40,),
    classes_columns=50,
    coverage_features=300,
    noise_tests=20,
    level_tests=10,
    power_tests=10,
    test_permutations=39,
    data_permutations=39,
    time_repetitions=1,
    path_radii=5,
    reliable_studies=3,
    interval_studies=2,
    accuracy_repetitions=1,
    fit_repetitions=2,
    fit_seconds=2.0,
    fit_limit=20.0,
    accuracy_seconds=2.0,
    feature_sweep=(200, 400, 800),
    feature_sweep_samples=40,
    sample_sweep=(20, 40, 80),
    sample_sweep_features=200,
    row_sweep=(50, 200, 800),
    row_sweep_features=20,
    class_sweep=(3, 5, 8),
    class_sweep_samples=60,
    class_sweep_features=200,
    document_sweep=(50, 200, 800),
    document_sweep_words=1000,
    size_map=("60x400x2", "200x100x3"),
    table_features=2000,
    table_repetitions=1,
    scale_wide=(40, 4000),
    scale_sparse=(60, 2000),
    scale_tall=(3000, 10),
    scale_limit=60.0,
    cluster_features=4000,
    report_classes=(66, 30),
    report_wide=(40, 100),
    limit=60.0,
    is_quick=True,
)


def with_texts(base: Settings, texts: Sequence[str]) -> Settings:
    """The settings with values from ``name=value``; several values are separated by commas."""
    values: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in CHOICES or not value:
            raise ValueError(f"expected NAME=VALUE, NAME one of {', '.join(CHOICES)}; got {text!r}.")
        default = CHOICES[name]
        kind = type(default[0] if isinstance(default, tuple) and default else default)
        parts = [part.strip() for part in value.split(",") if part.strip()]
        try:
            found = tuple(parts if kind is tuple else map(kind, parts))
        except ValueError as error:
            raise ValueError(f"{name}: expected numbers separated by commas, got {value!r}.") from error
        if not isinstance(default, tuple) and len(found) != 1:
            raise ValueError(f"{name}: expected one number, got {value!r}.")
        values[name] = found if isinstance(default, tuple) else found[0]
    return replace(base, **values)


def differences_from_paper(settings: Settings, names: tuple[str, ...]) -> list[str]:
    """In words, which of the named settings are not those of the paper's text."""
    full = Settings()
    lines = []
    for name in names:
        value, printed = getattr(settings, name), PAPER.get(name, getattr(full, name))
        if value != printed:
            lines.append(f"{name} = {_in_words(value)} (paper: {_in_words(printed)})")
    return lines


def _in_words(value: Any) -> str:
    return ", ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else str(value)
