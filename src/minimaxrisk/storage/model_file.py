"""Models in files that execute nothing when they are opened.

A model file is what skops writes (a zip of arrays and a description of objects, no pickle) with one more
member, ``minimaxrisk.json``: the version of the format, what the model was learned from, its bounds, the
names of its columns, and a digest of everything. The digest finds files that were damaged or changed by
hand. It is no signature: whoever wants to deceive can compute it anew. What the bounds are worth is told by
the training data and ``minimaxrisk.verify``.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import platform
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from minimaxrisk._utils.arrays import DataMatrix
from minimaxrisk._utils.atomic import write_whole
from minimaxrisk._utils.extras import require
from minimaxrisk._utils.sklearn_private import without_array_adapters
from minimaxrisk._utils.versions import package_versions
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.ensemble import MinimaxRiskEnsembleClassifier
from minimaxrisk.guarantees.training_scale import TrainingScale
from minimaxrisk.storage.archive import refuse_absurd

MANIFEST = "minimaxrisk.json"
FORMAT = 2
# The types beyond those of NumPy and scikit-learn that a file may hold.
TRUSTED = (
    "minimaxrisk.estimators.classifier.MinimaxRiskClassifier",
    "minimaxrisk.estimators.clipped_scaler.ClippedScaler",
    "minimaxrisk.estimators.ensemble.MinimaxRiskEnsembleClassifier",
    "minimaxrisk.guarantees.false_selections.FalseSelectionBounds",
    "minimaxrisk.problem.linear_rule.LinearRule",
    "numpy.dtype",  # of an imputer
)
PACKAGES = ("minimaxrisk", "numpy", "scipy", "scikit-learn", "highspy", "skops")


@dataclass(frozen=True)
class SavedModel:
    """A fitted classifier with what is needed to use it on a table with named columns.

    Parameters
    ----------
    classifier : MinimaxRiskClassifier or MinimaxRiskEnsembleClassifier
        Fitted on an array whose columns are ``feature_names``, after the imputer and the scaler.
    feature_names : ndarray of str
        Names of the columns, in the order of ``coef_``.
    target : str
        What the labels are called in the training data.
    fingerprint : str
        Digest of the training data, filled and not yet scaled, as ``fingerprint`` computes it.
    fingerprint_of_used : str, default=""
        The same of their selected columns without labels.
    imputer : SimpleImputer or None, default=None
        Fills missing values with what they were replaced by in training; None refuses them.
    scaler : ClippedScaler or None, default=None
        What clipped the columns before the classifier saw them; None for columns as they are.
    training_scale : TrainingScale or None, default=None
        What the columns that the model uses were like in training, filled and not yet scaled; new samples are
        compared with it. None for a model that uses no column, and in files of older releases.
    groups, batch : str or None, default=None
        The columns of the training data that say which samples are of one patient, and of one batch.
    reading : mapping of str to str, default={}
        The layer or sheet of the file that the training data come from, and what became of features of the
        same name, as options of reading.
    command : str, default=""
        How the model was made.
    versions : mapping of str to str, default={}
        With which versions of Python and of packages it was made.

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
    >>> from minimaxrisk.storage import SavedModel, fingerprint, load_model, save_model
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

    classifier: MinimaxRiskClassifier | MinimaxRiskEnsembleClassifier
    feature_names: np.ndarray
    target: str
    fingerprint: str
    fingerprint_of_used: str = ""
    imputer: SimpleImputer | None = None
    scaler: ClippedScaler | None = None
    training_scale: TrainingScale | None = None
    groups: str | None = None
    batch: str | None = None
    reading: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    def prepared(self, X: DataMatrix) -> DataMatrix:
        """The table as the classifier saw it in training: filled and scaled, if the model does either.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The columns ``feature_names``, NaN where a value is missing.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            What ``classifier`` takes.
        """
        return self.scaled(self.filled(X))

    def filled(self, X: DataMatrix) -> DataMatrix:
        """The table with missing values filled, if the model fills any.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The columns ``feature_names``, NaN where a value is missing.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Without gaps, or X as it is where there is no imputer.
        """
        return X if self.imputer is None else self.imputer.transform(X)

    def scaled(self, X: DataMatrix) -> DataMatrix:
        """A table without gaps with its columns scaled and clipped, if the model does that.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The columns ``feature_names``, without gaps.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Scaled and clipped, or X as it is where there is no scaler.
        """
        return X if self.scaler is None else self.scaler.transform(X)


def save_model(model: SavedModel, path: str | Path) -> None:
    """Write a model file, whole or not at all; needs the extra ``app``.

    A ``callback`` of the classifier is not part of it.

    Parameters
    ----------
    model : SavedModel
        The classifier with what belongs to it.
    path : str or Path
        Where to write it; ``.skops`` is the usual ending.

    See Also
    --------
    load_model : Reads the file.
    """
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
        The classifier with what belongs to it.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no model file, damaged, changed, written in another version of the format, or holds objects
        that a model has no need of.

    See Also
    --------
    minimaxrisk.verify : Tells from the training data whether the bounds are right.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no model file {path}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a model file.")
    content = path.read_bytes()
    with _as_archive(content, path) as archive:
        refuse_absurd(archive, path)
        manifest = _checked_manifest(archive, path)
    parts = _loaded(content, path)
    try:
        return SavedModel(
            classifier=parts["classifier"],
            feature_names=np.array(manifest["feature_names"], dtype=object),
            target=manifest["target"],
            fingerprint=manifest["fingerprint"],
            fingerprint_of_used=manifest["fingerprint_of_used"],
            imputer=parts["imputer"],
            scaler=parts.get("scaler"),  # files of older releases have none
            training_scale=_scale_of(parts.get("training_scale")),
            groups=manifest.get("groups"),
            batch=manifest.get("batch"),
            reading=manifest["reading"],
            command=manifest["command"],
            versions=manifest["versions"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is incomplete: {error} is missing; {AGAIN}.") from error


def _scale_of(stored: Any) -> TrainingScale | None:
    return None if stored is None else TrainingScale(**stored)


AGAIN = "fit the model again, or get the file again"


def _packed(model: SavedModel) -> bytes:
    skops = _skops()
    classifier = _without_callback(model.classifier)
    content = skops.dumps(
        {
            "classifier": classifier,
            "imputer": model.imputer,
            "scaler": model.scaler,
            # As arrays, so that older releases can read the file.
            "training_scale": None if model.training_scale is None else vars(model.training_scale),
        },
        compression=zipfile.ZIP_DEFLATED,
    )
    manifest = {
        "format": FORMAT,
        "versions": dict(model.versions),
        "target": model.target,
        "classes": np.asarray(classifier.classes_).tolist(),
        "certificate": _certificate(classifier),
        "fingerprint": model.fingerprint,
        "fingerprint_of_used": model.fingerprint_of_used,
        "groups": model.groups,
        "batch": model.batch,
        "reading": dict(model.reading),
        "command": model.command,
        "feature_names": list(map(str, model.feature_names)),
    }
    file = io.BytesIO(content)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        manifest["digest"] = _digest(archive, manifest)
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))
    return file.getvalue()


def _without_callback(classifier: Any) -> Any:
    """The same fitted model; whatever a callback refers to does not belong in a file."""
    stored = copy.copy(classifier)
    if not isinstance(stored, MinimaxRiskEnsembleClassifier):
        return stored.set_params(callback=None)
    if stored.estimator is not None:
        stored.estimator = clone(stored.estimator).set_params(callback=None)
    return stored


def current_versions() -> dict[str, str]:
    """What a result was made with."""
    return {"python": platform.python_version()} | package_versions(PACKAGES)


def _certificate(classifier: Any) -> dict[str, float] | None:
    """The bounds; an ensemble may have been fitted without."""
    if not hasattr(classifier, "worst_case_error_"):
        return None
    return {"lower": classifier.worst_case_error_lower_, "upper": classifier.worst_case_error_}


@contextmanager
def _as_archive(content: bytes, path: Path) -> Iterator[zipfile.ZipFile]:
    """Whatever a damaged zip makes the reader raise becomes one message."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, zlib.error) as error:
        raise ValueError(f"{path} is not a model file, or only part of one ({error}); {AGAIN}.") from error


def _checked_manifest(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """The description of the file, once its members are whole and of a version that is understood."""
    if MANIFEST not in archive.namelist():
        raise ValueError(f"{path} is not a model file of minimaxrisk: it has no {MANIFEST}.")
    try:
        manifest = json.loads(archive.read(MANIFEST))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
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
        remedy = "install a newer minimaxrisk" if found > FORMAT else "fit the model again"
        raise ValueError(
            f"{path} was written by minimaxrisk {writer} in version {found} of the format; this release "
            f"reads version {FORMAT}: {remedy}."
        )


def _digest(archive: zipfile.ZipFile, manifest: Mapping[str, Any]) -> str:
    """SHA-256 of the description and of all other members by name."""
    described = {key: value for key, value in manifest.items() if key != "digest"}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in sorted(set(archive.namelist()) - {MANIFEST}):
        digest.update(name.encode())
        with archive.open(name) as member:
            of_member = hashlib.sha256()
            while piece := member.read(1 << 20):
                of_member.update(piece)
        digest.update(of_member.digest())
    return digest.hexdigest()


def _loaded(content: bytes, path: Path) -> dict[str, Any]:
    skops = _skops()
    try:
        strange = sorted(set(skops.get_untrusted_types(data=content)) - set(TRUSTED))
        if not strange:
            parts = skops.loads(content, trusted=list(TRUSTED))
    except Exception as error:  # skops raises whatever a description that makes no sense leads it to
        raise ValueError(f"{path} cannot be read ({type(error).__name__}: {error}); {AGAIN}.") from error
    if strange:
        raise ValueError(
            f"{path} holds objects that do not belong in a model and are not trusted: "
            f"{', '.join(strange[:5])}. Do not use this file unless you know where it comes from."
        )
    kinds = (MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier)
    if not isinstance(parts, dict) or not isinstance(parts.get("classifier"), kinds):
        raise ValueError(f"{path} does not hold a MinimaxRiskClassifier or an ensemble of them; {AGAIN}.")
    return parts


def _skops() -> Any:
    """The package, which lists the estimators of scikit-learn when it is imported."""
    with without_array_adapters():
        return require("skops.io", extra="app", purpose="Model files need")
