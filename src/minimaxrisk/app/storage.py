"""Models in files that execute nothing when they are opened, and fingerprints of their training data.

A model file is what skops writes (a zip of arrays and a description of objects, no pickle) with one more
member, ``minimaxrisk.json``: the version of the format, what the model was learned from, its bounds, the
names of its columns, and a digest of everything. The digest finds files that were damaged or changed by
hand. It is not a signature: anybody can compute it anew. ``minimaxrisk.verify`` and the training data show
whether the bounds are right.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import platform
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arguments import listed
from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray
from minimaxrisk._utils.environment import package_versions, require
from minimaxrisk._utils.sklearn_private import without_array_adapters
from minimaxrisk.analysis.recognition import TrainingSketches
from minimaxrisk.analysis.training_scale import TrainingScale
from minimaxrisk.app.atomic import write_whole
from minimaxrisk.app.files.quality import LARGEST
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.classifier_cv import MinimaxRiskClassifierCV
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
from minimaxrisk.estimators.kernel_classifier import MinimaxRiskKernelClassifier
from minimaxrisk.estimators.prediction_sets import decision_scores
from minimaxrisk.guarantees.certified import check_supported, columns_read_by, has_proof
from minimaxrisk.guarantees.left_out import Calibration

__all__ = ["SavedModel", "fingerprint", "load_model", "save_model", "trusted_types"]

# Several times what the largest plausible model has: a million columns and ten classes are 80 MB of
# coefficients, and as much for each of a few other attributes.
MOST_BYTES = 1_000_000_000
MOST_MISSING = 0.5  # of the values of a sample; with more there is nothing to tell its class by
MANIFEST, FORMAT = "minimaxrisk.json", 1
# What the description and a ``SavedModel`` call by the same name.
DESCRIBED = ("versions", "target", "fingerprint", "groups", "batch", "reading", "command")
LAST_DIGIT, ROUNDING = 2e-14, 1e-15  # of a number with 15 digits, with its weight; of a sum
PACKAGES = ("minimaxrisk", "numpy", "scipy", "scikit-learn", "highspy", "skops")
IN_PARTS = (
    "pass SavedModel(last_step, feature_names, target, fingerprint(X, y, feature_names)), where last_step is "
    "the fitted classifier, with steps before it as imputer= (a SimpleImputer) and scaler= (a ClippedScaler)"
)
AGAIN = "fit the model again, or get the file again"
# The types beyond those of NumPy and scikit-learn that a file may hold.
TRUSTED = (
    "minimaxrisk.estimators.classifier.MinimaxRiskClassifier",
    "minimaxrisk.estimators.classifier_cv.MinimaxRiskClassifierCV",
    "minimaxrisk.estimators.clipped_scaler.ClippedScaler",
    "minimaxrisk.estimators.ensemble.MinimaxRiskEnsembleClassifier",
    "minimaxrisk.estimators.kernel_classifier.MinimaxRiskKernelClassifier",
    "minimaxrisk.features.kernel.KernelFunction",
    "minimaxrisk.features.kernel.KernelSpace",
    "minimaxrisk.guarantees.false_selections.FalseSelectionBounds",
    "minimaxrisk.problem.rule.LinearRule",
    "minimaxrisk.solvers.ConstraintAndColumnGeneration",
    "minimaxrisk.solvers.ConstraintGeneration",
    "minimaxrisk.solvers.FirstOrder",
    "minimaxrisk.solvers.FullLP",
    "minimaxrisk.solvers.InteriorPoint",
    "numpy.dtype",  # of an imputer
    "scipy.sparse._csr.csr_array",  # of instances that a kernel was fitted on
    "scipy.sparse._csr.csr_matrix",
)
# Of other estimators.
TRUSTED_BESIDE = (
    "minimaxrisk.estimators.l1_svm.L1SVMClassifier",
    "minimaxrisk.estimators.prediction_sets.PredictionSets",
    "minimaxrisk.estimators.selector.MinimaxRiskSelector",
    "minimaxrisk.guarantees.calibrated_decision.CalibratedDecision",
    "minimaxrisk.guarantees.left_out.Calibration",
    "minimaxrisk.guarantees.left_out.LeftOutScores",
)
Classifier = (
    MinimaxRiskClassifier
    | MinimaxRiskClassifierCV
    | MinimaxRiskEnsembleClassifier
    | MinimaxRiskKernelClassifier
)


@dataclass(frozen=True)
class SavedModel:
    """A fitted classifier with all that is needed to use it on a table with named columns.

    Parameters
    ----------
    classifier : MinimaxRiskClassifier, MinimaxRiskClassifierCV, MinimaxRiskEnsembleClassifier or \
            MinimaxRiskKernelClassifier
        Fitted on an array whose columns are ``feature_names``, after the imputer and the scaler.
    feature_names : ndarray of str
        Names of the columns, in the order of ``coef_``.
    target : str
        What the labels are called in the training data.
    fingerprint : str
        Digest of the training data, filled and not yet scaled, as ``fingerprint`` computes it.
    rows, used_rows : ndarray of shape (n_samples,) or None, default=None
        Checksums of the training samples, in the order of training, as ``checksums`` computes them: of all
        columns with the label, and of the selected columns alone. They recognize training samples without
        their names, which do not belong in a file that is passed on.
    sketches : TrainingSketches or None, default=None
        Recognizes training samples with rounded values.
    imputer : SimpleImputer or None, default=None
        Fills missing values as in training; None for a model that refuses them.
    scaler : ClippedScaler or None, default=None
        Clips the columns before the classifier sees them; None for columns as they are.
    calibration : Calibration or None, default=None
        The calibrated decision, and for each training sample its class and its rounded margin when it was
        left out, sorted by class and margin. Prediction sets need these; ``minimaxrisk fit --out`` stores
        them.
    training_scale : TrainingScale or None, default=None
        The scale of the selected columns in training, filled and not yet scaled, with which new samples are
        compared. None for a model that uses no column.
    groups, batch : str or None, default=None
        The columns of the training data with the patient and the batch of each sample.
    reading : mapping of str to str, default={}
        Options by which the training data were read: layer, sheet, duplicates.
    command : str, default=""
        The command line that made the model.
    versions : mapping of str to str, default={}
        Versions of Python and of packages that made it; if empty, ``save_model`` writes the present ones.

    See Also
    --------
    save_model : Writes it to a file.
    load_model : Reads it from one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> from minimaxrisk.datasets import make_expression
    >>> from minimaxrisk.app.storage import SavedModel, fingerprint, load_model, save_model
    >>> study = make_expression(40, 50, effect=1.5, random_state=0)
    >>> X, y, names = study.data, study.target, study.feature_names
    >>> model = MinimaxRiskClassifier().fit(X, y)
    >>> saved = SavedModel(model, names, target="class", fingerprint=fingerprint(X, y, names))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(saved, Path(folder) / "model.skops")
    ...     again = load_model(Path(folder) / "model.skops")
    >>> bool(np.array_equal(again.classifier.predict(X), model.predict(X)))
    True
    """

    classifier: Classifier
    feature_names: np.ndarray
    target: str
    fingerprint: str
    rows: np.ndarray | None = None
    used_rows: np.ndarray | None = None
    sketches: TrainingSketches | None = None
    imputer: SimpleImputer | None = None
    scaler: ClippedScaler | None = None
    calibration: Calibration | None = None
    training_scale: TrainingScale | None = None
    groups: str | None = None
    batch: str | None = None
    reading: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    def prepared(self, X: DataMatrix) -> DataMatrix:
        """The table as the classifier takes it: filled and scaled, if the model does either.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The columns ``feature_names``, NaN where a value is missing.

        Returns
        -------
        ndarray, data frame or sparse matrix of shape (n_samples, n_features)
            What ``classifier`` takes; a frame if it was fitted on one.
        """
        X = self.filled(X)
        if self.scaler is not None:
            X = self.scaler.transform(_as_fitted(self.scaler, X))
        return _as_fitted(self.classifier, X)

    def predict(self, X: DataMatrix) -> np.ndarray:
        """Predict as ``minimaxrisk predict`` does: the class with the largest calibrated probability.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The columns ``feature_names``, NaN where a value is missing.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels; those of the classifier's own rule for a model without ``calibration``.
        """
        features = self.prepared(X)
        if self.calibration is None:
            return np.asarray(self.classifier.predict(features))
        scores = decision_scores(self.classifier, features)
        return np.asarray(self.classifier.classes_[self.calibration.predict(scores)])

    def filled(self, X: DataMatrix) -> DataMatrix:
        """The table without gaps and not yet scaled, as ``training_scale`` compares it.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The columns ``feature_names``, NaN where a value is missing.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            With the values of the imputer in the gaps; X itself without one.
        """
        return X if self.imputer is None else self.imputer.transform(_as_fitted(self.imputer, X))

    def table_of(self, samples: Any) -> FloatArray:
        """The table of samples that came as JSON, every value checked.

        Parameters
        ----------
        samples : list of dict
            For each sample its values by the name of the column: numbers, and None where a value is missing
            if the model has an imputer. Other columns are left out.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The columns ``feature_names``, NaN where a value is missing.

        Raises
        ------
        ValueError
            If it is no list of samples, a column is missing, or a value is no number; samples are counted
            from 0.
        """
        if not (isinstance(samples, list) and samples and all(isinstance(one, dict) for one in samples)):
            raise ValueError("send a list of samples: [{column: number, ...}, ...]")
        names = [str(name) for name in self.feature_names]
        if missing := [name for name in names if any(name not in one for one in samples)]:
            raise ValueError(f"columns are missing: {listed(missing)}")
        return np.array(
            [[self._number(one[name], i, name) for name in names] for i, one in enumerate(samples)]
        )

    def _number(self, value: Any, i: int, name: str) -> float:
        """A value of a sample; the comparison refuses NaN, and knows integers that no float can hold."""
        if value is None and self.imputer is not None:
            return math.nan
        if type(value) in (int, float) and abs(value) < LARGEST:
            return float(value)
        shown = (
            f"{value!r:.40}"
            if isinstance(value, str | int | float) or value is None
            else type(value).__name__
        )
        raise ValueError(f"sample {i}, column {name!r}: send a number below {LARGEST:g}, got {shown}")

    def mostly_missing(self, X: DataMatrix) -> BoolArray:
        """Which samples have no value in most of the columns that predictions depend on.

        What an imputer makes of them is the middle of the training data: a prediction that no measurement
        speaks for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The columns ``feature_names``, NaN where a value is missing.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            True where more than half of the values are missing.
        """
        table = X if sparse.issparse(X) else np.asarray(X)
        return share_missing(table[:, columns_read_by(self.classifier)]) > MOST_MISSING


def _as_fitted(step: Any, X: Any) -> Any:
    """An array with the names of its columns, if the step was fitted on a frame."""
    if not hasattr(step, "feature_names_in_") or hasattr(X, "columns") or sparse.issparse(X):
        return X
    pandas = require("pandas", extra="app", purpose="Models that were fitted on a data frame need")
    return pandas.DataFrame(X, columns=step.feature_names_in_)


def share_missing(X: DataMatrix) -> FloatArray:
    """The share of the values of each sample that are missing; 0 of no columns."""
    if sparse.issparse(X):
        gaps = sparse.coo_array(X)
        counts = np.bincount(gaps.row[np.isnan(gaps.data)], minlength=X.shape[0])
    else:
        counts = np.isnan(X).sum(axis=1)
    return np.asarray(counts / max(1, X.shape[1]))


def save_model(model: SavedModel, path: str | Path) -> None:
    """Write a model file; needs the extra ``app``.

    The file is written completely or not at all. A ``callback`` of the classifier is not stored.

    Parameters
    ----------
    model : SavedModel
        The model.
    path : str or Path
        Where to write it; ``.skops`` is the usual ending.

    Raises
    ------
    TypeError
        If it is a classifier or a pipeline by itself.
    ValueError
        If the classifier cannot be stored, such as one with a kernel that is a function.

    See Also
    --------
    load_model : Reads the file.
    """
    if not isinstance(model, SavedModel):
        raise TypeError(f"save_model takes a SavedModel, got {type(model).__name__}: {IN_PARTS}.")
    write_whole(path, _packed(model))


def load_model(path: str | Path) -> SavedModel:
    """Read a file that ``save_model`` or ``minimaxrisk fit --out`` wrote; needs the extra ``app``.

    Nothing in the file is executed.

    Parameters
    ----------
    path : str or Path
        The model file.

    Returns
    -------
    SavedModel
        The model.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not a model file, or damaged, changed, in another version of the format, or with objects that
        do not belong in a model.

    See Also
    --------
    minimaxrisk.verify : Checks the bounds with the training data.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no model file {path}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a model file.")
    content = path.read_bytes()
    with _as_archive(content, path) as archive:
        # A few megabytes can hold terabytes of zeros.
        total = sum(member.file_size for member in archive.infolist())
        if total > MOST_BYTES:
            raise ValueError(
                f"{path} is not a sound model file: it has {len(content):,} bytes and would unpack to "
                f"{total:,}, more than the {MOST_BYTES:,} of any model. Do not use it."
            )
        manifest = _checked_manifest(archive, path)
    parts = _loaded(content, path)
    try:
        return SavedModel(
            classifier=parts["classifier"],
            feature_names=np.array(manifest["feature_names"], dtype=object),
            imputer=parts["imputer"],
            scaler=parts["scaler"],
            calibration=parts["calibration"] and Calibration(**parts["calibration"]),
            training_scale=parts["training_scale"] and TrainingScale(**parts["training_scale"]),
            rows=parts["rows"],
            used_rows=parts["used_rows"],
            sketches=parts["sketches"] and TrainingSketches(**parts["sketches"]),
            **{name: manifest[name] for name in DESCRIBED},
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is incomplete: {error} is missing; {AGAIN}.") from error


def trusted_types() -> list[str]:
    """The types that skops has to trust for a file with estimators of this library.

    For pipelines and searches that skops itself writes. Where a class is defined may change with a release:
    take this list instead of writing names down, and read such a file with the release that wrote it.

    Returns
    -------
    list of str
        Names of classes, none of which executes anything when it is loaded.

    See Also
    --------
    save_model : Writes a classifier with the names of its columns, and finds out if the file is changed.

    Examples
    --------
    >>> import skops.io
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> from minimaxrisk.app.storage import trusted_types
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(40, 50, effect=1.5, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), MinimaxRiskClassifier()).fit(study.data, study.target)
    >>> again = skops.io.loads(skops.io.dumps(pipeline), trusted=trusted_types())
    >>> bool((again.predict(study.data) == pipeline.predict(study.data)).all())
    True
    """
    return [*TRUSTED, *TRUSTED_BESIDE]


def fingerprint(X: Any, y: Any, feature_names: Sequence[str] | np.ndarray) -> str:
    """SHA-256 of the numbers, the labels and the names of the columns, in any order of the rows.

    Dense and sparse matrices with the same numbers have the same fingerprint.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The numbers.
    y : array-like of shape (n_samples,) or None
        The labels, if there are any.
    feature_names : sequence of str of length n_features
        Names of the columns.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from minimaxrisk.app.storage import fingerprint
    >>> X, y, names = np.eye(2), np.array([0, 1]), np.array(["a", "b"])
    >>> fingerprint(X, y, names) == fingerprint(sparse.csr_array(X), y, names)
    True
    """
    X = X if sparse.issparse(X) else np.asarray(X)
    described = [X.shape, y is not None, list(map(str, feature_names))]
    digest = hashlib.sha256(json.dumps(described).encode())
    for row in sorted(_row_digests(X, y)):
        digest.update(row)
    return digest.hexdigest()


class Checksums(NamedTuple):
    """A number per row, and how far from it the number of the same row may be in a table saved again."""

    sums: np.ndarray
    slack: np.ndarray

    def places_in(self, known: np.ndarray) -> np.ndarray:
        """For each row the place of the same row in ``known``, each of which is taken once; -1 for none."""
        order, places, k = np.argsort(known, kind="stable"), np.full(len(self.sums), -1), 0
        for i in np.argsort(self.sums, kind="stable").tolist():
            while k < len(order) and known[order[k]] < self.sums[i] - self.slack[i]:
                k += 1
            if k < len(order) and known[order[k]] <= self.sums[i] + self.slack[i]:
                places[i] = order[k]
                k += 1
        return places

    def are_in(self, known: np.ndarray) -> np.ndarray:
        """Which rows are among the known ones, each of which may come several times."""
        ordered = np.sort(known)
        first, end = (np.searchsorted(ordered, self.sums + sign * self.slack) for sign in (-1, 1))
        return np.asarray(end > first)


def checksums(X: DataMatrix, y: np.ndarray | None = None) -> Checksums:
    """A sum over the logarithms and signs of each row, and its label: equal to 15 digits is the same row.

    Spreadsheets keep 15 digits, and pandas changes the last of 17. No digest of rounded values would do: some
    numbers are next to where rounding jumps. In a sum of logarithms with fixed random weights every number
    counts by its own digits, however large the others are. Of 1,000 columns a change in the 11th digit shows.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The numbers.
    y : ndarray of shape (n_samples,) or None, default=None
        The labels, if they count.

    Returns
    -------
    Checksums
        One per row.
    """
    weights, signs = _weights(X.shape[1])
    labels = [None] * X.shape[0] if y is None else np.asarray(y).tolist()
    found = np.empty((len(labels), 2))
    for i, ((columns, values), label) in enumerate(zip(_nonzeros(X), labels, strict=True)):
        terms = weights[columns] * np.log(np.abs(values.astype(np.float64)))
        drawn = hashlib.sha256(json.dumps(label).encode()).digest()[:8]
        total = (terms + signs[columns] * np.sign(values)).sum() + int.from_bytes(drawn, "little") / 2**62
        found[i] = total, LAST_DIGIT * (1 + len(columns)) + ROUNDING * np.abs(terms).sum()
    return Checksums(found[:, 0], found[:, 1])


def _weights(n_columns: int) -> np.ndarray:
    """Two rows of numbers between 1 and 2, the same everywhere and ever."""
    drawn = hashlib.shake_256(b"checksums").digest(16 * n_columns)
    return 1.0 + np.frombuffer(drawn, dtype="<u8").astype(np.float64).reshape(n_columns, 2).T / 2.0**64


def _row_digests(X: DataMatrix, y: np.ndarray | None) -> Iterator[bytes]:
    labels = [None] * X.shape[0] if y is None else np.asarray(y).tolist()
    for (columns, values), label in zip(_nonzeros(X), labels, strict=True):
        digest = hashlib.sha256(json.dumps(label).encode())
        digest.update(np.int64(len(columns)).tobytes())
        digest.update(columns.astype(np.int64).tobytes())
        digest.update(values.astype(np.float64).tobytes())
        yield digest.digest()


def current_versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    return {"python": platform.python_version()} | package_versions(PACKAGES)


def _packed(model: SavedModel) -> bytes:
    skops = _skops()
    if isinstance(model.classifier, Pipeline):
        raise ValueError(f"a model file takes no pipeline; {IN_PARTS}.")
    check_supported(model.classifier, "save_model")
    check_is_fitted(model.classifier)
    if len(model.feature_names) != model.classifier.n_features_in_:
        raise ValueError(
            f"feature_names must hold {model.classifier.n_features_in_} names, one for each column of the "
            f"classifier, got {len(model.feature_names)}."
        )
    classifier: Any = model.classifier._without_callback()
    parts = {
        "classifier": classifier,
        "imputer": model.imputer,
        "scaler": model.scaler,
        "calibration": model.calibration and vars(model.calibration),
        "training_scale": model.training_scale and vars(model.training_scale),
        "rows": model.rows,
        "used_rows": model.used_rows,
        "sketches": model.sketches and vars(model.sketches),
    }
    content = skops.dumps(parts, compression=zipfile.ZIP_DEFLATED)
    strange = sorted(set(skops.get_untrusted_types(data=content)) - set(TRUSTED))
    if strange:
        raise ValueError(
            f"a model file holds no code, and this model refers to {', '.join(strange)}; use a "
            "named kernel, or a named scoring."
        )
    manifest = {
        "format": FORMAT,
        **{name: getattr(model, name) for name in DESCRIBED},
        "versions": dict(model.versions) or current_versions(),
        "reading": dict(model.reading),
        "classes": np.asarray(classifier.classes_).tolist(),
        "certificate": _certificate(classifier),
        "feature_names": list(map(str, model.feature_names)),
    }
    file = io.BytesIO(content)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        manifest["digest"] = _digest(archive, manifest)
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))
    return file.getvalue()


def _certificate(classifier: Any) -> dict[str, float] | None:
    """The bounds, which an ensemble need not have."""
    if not has_proof(classifier):
        return None
    return {"lower": classifier.worst_case_error_lower_, "upper": classifier.worst_case_error_}


def _digest(archive: zipfile.ZipFile, manifest: Mapping[str, Any]) -> str:
    """SHA-256 of the description and of all other members by name."""
    described = {key: value for key, value in manifest.items() if key != "digest"}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in sorted(set(archive.namelist()) - {MANIFEST}):
        digest.update(name.encode())
        digest.update(hashlib.sha256(archive.read(name)).digest())
    return digest.hexdigest()


@contextmanager
def _as_archive(content: bytes, path: Path) -> Iterator[zipfile.ZipFile]:
    """The zip; whatever the reader raises at a damaged one becomes one message."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, zlib.error) as error:
        raise ValueError(f"{path} is not a model file, or only part of one ({error}); {AGAIN}.") from error


def _checked_manifest(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """The description of the file, after a check of its format and its digest."""
    if MANIFEST not in archive.namelist():
        raise ValueError(f"{path} is not a model file of minimaxrisk: it has no {MANIFEST}.")
    try:
        manifest = json.loads(archive.read(MANIFEST))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: its {MANIFEST} cannot be read; {AGAIN}.") from error
    _refuse_other_format(manifest, path)
    if manifest.get("digest") != _digest(archive, manifest):
        raise ValueError(f"{path} was changed after it was written (its digest does not match); {AGAIN}.")
    return manifest


def _refuse_other_format(manifest: Any, path: Path) -> None:
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(found, int):
        raise ValueError(f"{path} does not say which version of the format it has; {AGAIN}.")
    if found != FORMAT:
        versions = manifest.get("versions")
        writer = versions.get("minimaxrisk", "?") if isinstance(versions, dict) else "?"
        raise ValueError(
            f"{path} was written by minimaxrisk {writer} in version {found} of the format; this release "
            f"reads version {FORMAT}: install a newer minimaxrisk."
        )


def _loaded(content: bytes, path: Path) -> dict[str, Any]:
    skops = _skops()
    try:
        strange = sorted(set(skops.get_untrusted_types(data=content)) - set(TRUSTED))
        if not strange:
            parts = skops.loads(content, trusted=list(TRUSTED))
    except Exception as error:  # a description that makes no sense can make skops raise anything
        raise ValueError(f"{path} cannot be read ({type(error).__name__}: {error}); {AGAIN}.") from error
    if strange:
        raise ValueError(
            f"{path} holds objects that do not belong in a model and are not trusted: "
            f"{', '.join(strange[:5])}. Do not use this file unless you know where it comes from."
        )
    if not isinstance(parts, dict) or not isinstance(parts.get("classifier"), Classifier):
        raise ValueError(f"{path} does not hold a classifier with a certificate; {AGAIN}.")
    return parts


def _skops() -> Any:
    """The package; its import lists the estimators of scikit-learn."""
    with without_array_adapters():
        return require("skops.io", extra="app", purpose="Model files need")


def _nonzeros(X: DataMatrix) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Columns and values of the numbers that are not 0, by row."""
    if not sparse.issparse(X):
        for row in X:
            columns = np.flatnonzero(row)
            yield columns, row[columns]
        return
    rows = sparse.csr_matrix(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    for start, end in pairwise(rows.indptr):
        yield rows.indices[start:end], rows.data[start:end]
