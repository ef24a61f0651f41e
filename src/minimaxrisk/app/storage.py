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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils.arguments import listed
from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray
from minimaxrisk._utils.environment import package_versions, require
from minimaxrisk._utils.sklearn_private import without_array_adapters
from minimaxrisk.app.archive import check_arrays, check_description, packed, read_members
from minimaxrisk.app.atomic import write_whole
from minimaxrisk.app.files.quality import LARGEST
from minimaxrisk.app.model_checks import Classifier, check_model
from minimaxrisk.app.training_samples import attached, detached
from minimaxrisk.checks.scales import MOSTLY_MISSING, share_missing
from minimaxrisk.checks.training_scale import TrainingScale
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.prediction_sets import decision_scores
from minimaxrisk.guarantees.certified import PROOF, check_supported, columns_read_by, has_proof
from minimaxrisk.guarantees.left_out import Calibration

__all__ = ["SavedModel", "fingerprint", "load_model", "save_model", "trusted_types"]

MANIFEST, FORMAT = "minimaxrisk.json", 1
N_BITS = 20  # of a value that count in digests: programs that save a table again keep more
FEWEST_VALUES = 64  # of a sample with a hash, so that it is not found by trying values
# What the description and a ``SavedModel`` call by the same name.
DESCRIBED = (
    *("versions", "target", "fingerprint", "unlabelled", "groups", "batch", "reading", "command"),
    "is_detached",
)
PARTS = ("classifier", "imputer", "scaler", "calibration", "training_scale", "sample_hashes")
AS_DICTIONARIES: Mapping[str, Any] = {"calibration": Calibration, "training_scale": TrainingScale}
PACKAGES = ("minimaxrisk", "numpy", "scipy", "scikit-learn", "highspy", "skops")
IN_PARTS = (
    "pass SavedModel(last_step, feature_names, target, fingerprint(X, y, feature_names)), where last_step is "
    "the fitted classifier, with steps before it as imputer= (a SimpleImputer) and scaler= (a ClippedScaler)"
)
AGAIN = "fit the model again, or get the file again"
# The objects of this library that a file may hold.
TRUSTED = (
    "minimaxrisk.estimators.classifier.MinimaxRiskClassifier",
    "minimaxrisk.estimators.classifier_cv.MinimaxRiskClassifierCV",
    "minimaxrisk.estimators.clipped_scaler.ClippedScaler",
    "minimaxrisk.estimators.ensemble.MinimaxRiskEnsembleClassifier",
    "minimaxrisk.estimators.kernel_classifier.MinimaxRiskKernelClassifier",
    "minimaxrisk.guarantees.calibrated_decision.CalibratedDecision",
    "minimaxrisk.problem.kernel.KernelFunction",
    "minimaxrisk.problem.kernel.KernelSpace",
    "minimaxrisk.problem.rule.FourierRule",
    "minimaxrisk.problem.rule.LinearRule",
    "minimaxrisk.solvers.ConstraintAndColumnGeneration",
    "minimaxrisk.solvers.ConstraintGeneration",
    "minimaxrisk.solvers.FirstOrder",
    "minimaxrisk.solvers.FullLP",
    "minimaxrisk.solvers.InteriorPoint",
)
OBJECTS = frozenset({*TRUSTED, "sklearn.impute._base.SimpleImputer"})
# What skops has to be told, besides, for estimators of this library that no model file holds.
TRUSTED_BESIDE = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "minimaxrisk.estimators.prediction_sets.PredictionSets",
    "minimaxrisk.estimators.selector.MinimaxRiskSelector",
    "minimaxrisk.guarantees.left_out.Calibration",
    "minimaxrisk.guarantees.left_out.LeftOutScores",
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
    sample_hashes : ndarray of uint32 or None, default=None
        Hashes of the training samples, sorted, by which ``predict`` and ``evaluate`` recognise those that
        come again with the same values; ``minimaxrisk fit --recognise`` stores them.
    groups, batch : str or None, default=None
        The columns of the training data with the patient and the batch of each sample.
    reading : mapping of str to str, default={}
        Options by which the training data were read: layer, sheet, duplicates.
    command : str, default=""
        The command line that made the model.
    unlabelled : str, default=""
        The digest of the training data without labels, by which ``predict`` recognises them as a whole.
    is_detached : bool, default=False
        Whether the classifier has lost the order of its training samples, as ``detached_from`` returns it.
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
    imputer: SimpleImputer | None = None
    scaler: ClippedScaler | None = None
    calibration: Calibration | None = None
    training_scale: TrainingScale | None = None
    sample_hashes: np.ndarray | None = None
    groups: str | None = None
    batch: str | None = None
    reading: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    unlabelled: str = ""
    is_detached: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)

    def detached_from(self, X: DataMatrix, y: Any) -> SavedModel:
        """Copy without the order of the training samples, so that nothing in the file belongs to one by name.

        Predictions stay as they are. Means by class are left out if a class has fewer than three samples. A
        kernel classifier stays as it is: it needs the samples, or a weight for each.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The training samples, filled and not yet scaled.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        SavedModel
            The copy.
        """
        return replace(self, classifier=detached(self.classifier, X, y), is_detached=True)

    def classifier_of(self, X: DataMatrix, y: Any, groups: Any = None) -> Any:
        """The classifier with the order of its training samples, which ``verify`` needs.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The training samples in any order, filled and not yet scaled.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,) or None, default=None
            What ``fit`` was given.

        Returns
        -------
        estimator
            ``classifier``, or a copy of it if it was detached.
        """
        if not self.is_detached:
            return self.classifier
        return attached(self.classifier, X, y, groups=groups, transformer=self.scaler)

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
        return share_missing(table[:, columns_read_by(self.classifier)]) > MOSTLY_MISSING


def _as_fitted(step: Any, X: Any) -> Any:
    """An array with the names of its columns, if the step was fitted on a frame."""
    if not hasattr(step, "feature_names_in_") or hasattr(X, "columns") or sparse.issparse(X):
        return X
    pandas = require("pandas", extra="app", purpose="Models that were fitted on a data frame need")
    return pandas.DataFrame(X, columns=step.feature_names_in_)


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
        If it is not a model file, or damaged, changed, in another version of the format, or with anything
        that ``save_model`` would not have written.

    See Also
    --------
    minimaxrisk.verify : Checks the bounds with the training data.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no model file {path}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a model file.")
    if not path.is_file():
        raise ValueError(f"{path} is not a regular file.")
    try:
        members = read_members(path)
        manifest = _checked_manifest(members)
        saved = _loaded(members, manifest)
        check_model(saved)
        if [manifest["classes"], manifest["certificate"]] != _described(saved.classifier):
            raise ValueError("its description contradicts the classifier")
    # A file that was made to deceive can make any of the readers raise anything.
    except Exception as error:
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        told = f"{error} is missing" if isinstance(error, KeyError) else " ".join(f"{kind}{error}".split())
        raise ValueError(f"{path} is not a model file, or not a sound one: {told:.300}; {AGAIN}.") from error
    return saved


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

    Six digits of a number count, because programs that save a table again may change the last ones. Dense and
    sparse matrices with the same numbers have the same fingerprint.

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


def _row_digests(X: DataMatrix, y: np.ndarray | None) -> Iterator[bytes]:
    labels = [None] * X.shape[0] if y is None else np.asarray(y).tolist()
    for (columns, values), label in zip(_nonzeros(X), labels, strict=True):
        digest = hashlib.sha256(json.dumps(label).encode())
        digest.update(np.int64(len(columns)).tobytes())
        digest.update(columns.astype(np.int64).tobytes())
        mantissas, exponents = np.frexp(values.astype(np.float64))
        digest.update(np.ldexp(np.rint(np.ldexp(mantissas, N_BITS)), exponents).tobytes())
        yield digest.digest()


def sample_hashes(X: DataMatrix, salt: str) -> np.ndarray:
    """32 bits of each sample, by which it is recognised if all of its values come again.

    No value follows from them. Samples are not recognised if their values were rounded to fewer than seven
    digits, normalised again or measured again. With fewer than 64 values that are not zero the hash is 0.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples.
    salt : str
        Another text gives other hashes.

    Returns
    -------
    ndarray of uint32 of shape (n_samples,)
        The hashes.
    """
    found = np.zeros(X.shape[0], dtype=np.uint32)
    for i, ((columns, _), row) in enumerate(zip(_nonzeros(X), _row_digests(X, None), strict=True)):
        if len(columns) >= FEWEST_VALUES:
            found[i] = int.from_bytes(hashlib.sha256(salt.encode() + row).digest()[:4], "little")
    return found


def current_versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    return {"python": platform.python_version()} | package_versions(PACKAGES)


def _packed(model: SavedModel) -> bytes:
    if isinstance(model.classifier, Pipeline):
        raise ValueError(f"a model file takes no pipeline; {IN_PARTS}.")
    check_supported(model.classifier, "save_model", PROOF)
    check_is_fitted(model.classifier)
    if len(model.feature_names) != model.classifier.n_features_in_:
        raise ValueError(
            f"feature_names must hold {model.classifier.n_features_in_} names, one for each column of the "
            f"classifier, got {len(model.feature_names)}."
        )
    classifier: Any = model.classifier._without_callback()
    parts = {name: getattr(model, name) for name in PARTS} | {"classifier": classifier}
    parts |= {name: parts[name] and vars(parts[name]) for name in AS_DICTIONARIES}
    members: dict[str, bytes | str] = dict(_members_of_skops(parts))
    manifest = {
        "format": FORMAT,
        **{name: getattr(model, name) for name in DESCRIBED},
        "versions": dict(model.versions) or current_versions(),
        "reading": dict(model.reading),
        **dict(zip(("classes", "certificate"), _described(classifier), strict=True)),
        "feature_names": list(map(str, model.feature_names)),
    }
    manifest["digest"] = _digest(members, manifest)
    return packed(members | {MANIFEST: json.dumps(manifest, indent=1, ensure_ascii=False)})


def _members_of_skops(parts: Mapping[str, Any]) -> dict[str, bytes]:
    """Write objects as skops does; objects that could not be loaded again are refused."""
    with zipfile.ZipFile(io.BytesIO(_skops().dumps(parts))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    try:
        check_description(members, OBJECTS)
    except ValueError as error:
        raise ValueError(
            f"a model file holds no code, and this model cannot be stored: {error}. Use a named kernel, or a "
            "named scoring."
        ) from error
    return members


def _described(classifier: Any) -> list[Any]:
    """Classes and bounds; an ensemble need not have bounds."""
    bounds = None
    if has_proof(classifier):
        bounds = {"lower": classifier.worst_case_error_lower_, "upper": classifier.worst_case_error_}
    return [np.asarray(classifier.classes_).tolist(), bounds]


def _digest(members: Mapping[str, bytes | str], manifest: Mapping[str, Any]) -> str:
    """SHA-256 of the description and of all other members by name."""
    described = {key: value for key, value in manifest.items() if key != "digest"}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in sorted(set(members) - {MANIFEST}):
        content = members[name]
        digest.update(name.encode())
        digest.update(hashlib.sha256(content.encode() if isinstance(content, str) else content).digest())
    return digest.hexdigest()


def _checked_manifest(members: Mapping[str, bytes]) -> dict[str, Any]:
    """The description of the file, after a check of its format and its digest."""
    if MANIFEST not in members:
        raise ValueError(f"it has no {MANIFEST}")
    manifest = json.loads(members[MANIFEST])
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if type(found) is not int:
        raise ValueError("it does not say which version of the format it has")
    if found != FORMAT:
        versions = manifest.get("versions")
        writer = versions.get("minimaxrisk", "?") if isinstance(versions, dict) else "?"
        raise ValueError(
            f"it was written by minimaxrisk {writer!s:.20} in version {found} of the format, and this "
            f"release reads version {FORMAT}: install a newer minimaxrisk"
        )
    if manifest.get("digest") != _digest(members, manifest):
        raise ValueError("it was changed after it was written (its digest does not match)")
    if not isinstance(manifest["feature_names"], list):
        raise ValueError("feature_names is not a list")
    return manifest


def _loaded(members: Mapping[str, bytes], manifest: Mapping[str, Any]) -> SavedModel:
    """The objects, whose archive is made anew of members that were checked."""
    check_arrays(members)
    check_description(members, OBJECTS)
    content = packed({name: part for name, part in members.items() if name != MANIFEST}, zipfile.ZIP_STORED)
    parts = _skops().loads(content, trusted=trusted_types())
    for name, kind in AS_DICTIONARIES.items():
        parts[name] = parts[name] and kind(**parts[name])
    names = np.empty(len(manifest["feature_names"]), dtype=object)
    names[:] = manifest["feature_names"]
    described = {name: manifest[name] for name in DESCRIBED}
    return SavedModel(feature_names=names, **{name: parts[name] for name in PARTS}, **described)


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
