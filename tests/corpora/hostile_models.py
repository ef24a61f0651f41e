"""Model files that were made to deceive: each must be refused, with little memory and in seconds.

``python -m tests.corpora.hostile_models FOLDER`` writes the files there, has ``predict`` open each in a
process with 4 GB of memory, and prints a table.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from numpy.lib import format as npy
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskClassifierCV,
    MinimaxRiskKernelClassifier,
    training_scale,
)
from minimaxrisk._utils.notices import quiet_fits
from minimaxrisk.app.storage import SavedModel, fingerprint, save_model

MANIFEST, SCHEMA = "minimaxrisk.json", "schema.json"
N_COLUMNS = 12
MEMORY, MOST_SECONDS = 4 << 30, 20
Members = dict[str, bytes]


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A small table: values, labels, names of columns."""
    random = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 15)
    X = random.normal(5.0, 1.0, (30, N_COLUMNS))
    X[y == "ill", :3] += 1.0
    return X, y, np.array([f"g{j}" for j in range(N_COLUMNS)], dtype=object)


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def digest(members: Mapping[str, bytes], manifest: Mapping[str, Any]) -> str:
    """What an attacker computes as well."""
    described = {key: value for key, value in manifest.items() if key != "digest"}
    found = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in sorted(set(members) - {MANIFEST}):
        found.update(name.encode() + hashlib.sha256(members[name]).digest())
    return found.hexdigest()


def write(path: Path, members: Members, manifest: Any = None) -> None:
    """Write an archive with a manifest whose digest is right."""
    manifest = json.loads(members[MANIFEST]) if manifest is None else manifest
    if isinstance(manifest, dict):
        manifest["digest"] = digest(members, manifest)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if name != MANIFEST:
                archive.writestr(name, content)
        archive.writestr(MANIFEST, manifest if isinstance(manifest, bytes) else json.dumps(manifest))


def with_manifest(path: Path, members: Members, **changes: Any) -> None:
    write(path, members, json.loads(members[MANIFEST]) | changes)


def without_key(path: Path, members: Members, key: str) -> None:
    manifest = json.loads(members[MANIFEST])
    del manifest[key]
    write(path, members, manifest)


def with_parts(
    path: Path, members: Members, change: Callable[[dict[str, Any]], object], *, described: bool = True
) -> None:
    """Write other objects; the manifest follows the classifier where it can."""
    schema, manifest = io.BytesIO(), json.loads(members[MANIFEST])
    with zipfile.ZipFile(schema, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    parts = skops.io.loads(schema.getvalue(), trusted=skops.io.get_untrusted_types(data=schema.getvalue()))
    change(parts)
    classifier = parts["classifier"]
    if described and hasattr(classifier, "classes_"):
        manifest["classes"] = np.asarray(classifier.classes_).tolist()
        manifest["certificate"] = {
            "lower": classifier.worst_case_error_lower_,
            "upper": classifier.worst_case_error_,
        }
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(parts))) as archive:
        others = {name: archive.read(name) for name in archive.namelist()}
    write(path, others, manifest)


def part(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda parts: parts.update({name: value})


def attribute(part_name: str, **values: Any) -> Callable[[dict[str, Any]], object]:
    def change(parts: dict[str, Any]) -> None:
        found = parts[part_name]
        (found if isinstance(found, dict) else vars(found)).update(values)

    return change


def of_rule(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda parts: vars(parts["classifier"].stages_[-1]).update(values)


def with_arrays(path: Path, members: Members, content: bytes) -> None:
    write(path, {name: content if name.endswith(".npy") else part for name, part in members.items()})


def header(shape: tuple[int, ...], descr: str) -> bytes:
    file = io.BytesIO()
    npy.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def more_members(path: Path, members: Members, **more: bytes) -> None:
    write(path, members | {name.replace("__", "."): content for name, content in more.items()})


def false_size(path: Path, members: Members, size: int) -> None:
    """Another size in the directory of the zip, for its largest array."""
    write(path, members)
    with zipfile.ZipFile(path) as archive:
        largest = max(
            (m for m in archive.infolist() if m.filename.endswith(".npy")), key=lambda m: m.file_size
        )
    content, name = bytearray(path.read_bytes()), largest.filename.encode()
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(name))
    content[entry + 24 : entry + 28] = min(size, 2**32 - 2).to_bytes(4, "little")
    path.write_bytes(content)


def encrypted(path: Path, members: Members) -> None:
    write(path, members)
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 8] |= 1
    path.write_bytes(content)


def twice(path: Path, members: Members) -> None:
    """The digest is right, whichever of the two is read."""
    write(path, members)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(SCHEMA, members[SCHEMA])


def zeros(n: int) -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(n))
    return file.getvalue()


def cut(path: Path, members: Members, share: float) -> None:
    write(path, members)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])


def one_array_often(path: Path, members: Members) -> None:
    """A description of a hundred arrays, all of them one member of 10 MB."""
    schema, name = json.loads(members[SCHEMA]), "zeros.npy"
    node = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": name,
    }
    many = [node | {"__id__": -i} for i in range(1, 100)]
    schema["content"]["rows"] = {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": many,
    }
    write(path, members | {SCHEMA: json.dumps(schema).encode(), name: zeros(1_250_000)})


def nested_bomb() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, format=b"csr", data=np.zeros(40_000_000))
    return file.getvalue()


def outside() -> sparse.csr_array:
    matrix = sparse.csr_array(np.eye(30, N_COLUMNS))
    matrix.indices = np.full_like(matrix.indices, 2_000_000_000)
    return matrix


def kernel_outside(parts: dict[str, Any]) -> None:
    X, y, _ = table()
    with quiet_fits():
        parts["classifier"] = MinimaxRiskKernelClassifier("rbf").fit(sparse.csr_array(X), y)
    parts["classifier"].X_fit_ = outside()


def chosen(parts: dict[str, Any]) -> None:
    X, y, _ = table()
    with quiet_fits():
        parts["classifier"] = MinimaxRiskClassifierCV(radii=[1.0, 2.0]).fit(X, y)
        parts["classifier"].estimator_ = MinimaxRiskKernelClassifier().fit(X, y)


NAMES = [f"g{j}" for j in range(N_COLUMNS)]
WIDE = np.zeros((1, N_COLUMNS + 1))
HOSTILE: dict[str, Callable[[Path, Members], None]] = {
    # sizes
    "directory claims 4 GB": partial(false_size, size=2**32 - 2),
    "directory claims 200 bytes": partial(false_size, size=200),
    "array claims 10^15 numbers": partial(with_arrays, content=header((10**15,), "<f8") + bytes(64)),
    "array of 10^15 empty texts": partial(with_arrays, content=header((10**15,), "<U0")),
    "array of 10^15 empty rows": partial(with_arrays, content=header((10**15, 0), "<f8")),
    "array of objects": partial(with_arrays, content=header((1,), "|O") + b"cos\nsystem\n(S'true'\ntR."),
    "bomb": partial(more_members, more__npy=bytes(300_000_000)),
    "bomb of text": lambda path, members: write(
        path, members | {SCHEMA: b"[" + b"[]," * 40_000_000 + b"[]]"}
    ),
    "bomb in a matrix": lambda path, members: write(path, members | {"more.npz": nested_bomb()}),
    "one array often": one_array_often,
    # the archive
    "the same name twice": twice,
    "name with a path": lambda path, members: write(path, members | {"../../evil.npy": zeros(1)}),
    "absolute name": lambda path, members: write(path, members | {"/tmp/evil.npy": zeros(1)}),
    "encrypted": encrypted,
    "half": partial(cut, share=0.5),
    "almost all": partial(cut, share=0.99),
    "empty": partial(cut, share=0.0),
    # other objects
    "another imputer": partial(with_parts, change=part("imputer", StandardScaler().fit(table()[0]))),
    "imputer with a function": partial(with_parts, change=part("imputer", FunctionTransformer(np.save))),
    "imputer as scaler": partial(with_parts, change=part("scaler", SimpleImputer().fit(table()[0]))),
    "scaler as imputer": partial(with_parts, change=part("imputer", ClippedScaler().fit(table()[0]))),
    "dictionary as classifier": partial(with_parts, change=part("classifier", {"coef_": np.zeros((1, 12))})),
    "tree as classifier": partial(
        with_parts, change=part("classifier", DecisionTreeClassifier().fit(*table()[:2])), described=False
    ),
    "chosen classifier of another kind": partial(with_parts, change=chosen),
    "command": partial(with_parts, change=part("imputer", partial(os.system, "exit 1"))),
    "another object as attribute": partial(with_parts, change=attribute("classifier", more=StandardScaler())),
    "list as scale": partial(with_parts, change=part("training_scale", [1, 2])),
    "scale without means": partial(with_parts, change=lambda parts: parts["training_scale"].pop("means")),
    "scale of other columns": partial(
        with_parts,
        change=attribute("training_scale", columns=np.array([10**12]), means=np.ones(1), spread=np.ones(1)),
    ),
    "matrix with indices outside": partial(with_parts, change=kernel_outside),
    # other attributes
    "a coefficient too many": partial(with_parts, change=attribute("classifier", coef_=WIDE)),
    "coefficients of text": partial(
        with_parts, change=attribute("classifier", coef_=WIDE[:, :12].astype(str))
    ),
    "coefficients that are not numbers": partial(
        with_parts, change=attribute("classifier", coef_=WIDE[:, 1:] * np.nan)
    ),
    "number of coefficients": partial(with_parts, change=attribute("classifier", n_features_in_=10**12)),
    "list as coefficients": partial(with_parts, change=attribute("classifier", coef_=[[0.0] * 12])),
    "one class": partial(with_parts, change=attribute("classifier", classes_=np.array(["ill"]))),
    "three classes": partial(with_parts, change=attribute("classifier", classes_=np.array(["a", "b", "c"]))),
    "parameter of another type": partial(with_parts, change=attribute("classifier", marginal=12)),
    "method that is a number": partial(with_parts, change=attribute("classifier", _fitted_rule=3)),
    "distribution as text": partial(with_parts, change=attribute("classifier", worst_case_distribution_="x")),
    "history as text": partial(with_parts, change=attribute("classifier", history_="x")),
    "rule of 10^15 columns": partial(with_parts, change=of_rule(n_features=10**15)),
    "rule of columns outside": partial(
        with_parts, change=of_rule(columns=np.array([99]), coef=np.ones((1, 1)))
    ),
    "medians of other columns": partial(with_parts, change=attribute("imputer", statistics_=np.zeros(3))),
    # the manifest
    "a name too few": partial(with_manifest, feature_names=NAMES[1:]),
    "a name twice": partial(with_manifest, feature_names=[*NAMES[1:], "g1"]),
    "names as text": partial(with_manifest, feature_names="g" * 12),
    "names in lists": partial(with_manifest, feature_names=[[name] for name in NAMES]),
    "numbers as names": partial(with_manifest, feature_names=list(range(12))),
    "target as number": partial(with_manifest, target=5),
    "reading as list": partial(with_manifest, reading=["layer"]),
    "versions in versions": partial(with_manifest, versions={"minimaxrisk": {"a": 1}}),
    "groups as number": partial(with_manifest, groups=3),
    "other bounds": partial(with_manifest, certificate={"lower": 0.0, "upper": 0.001}),
    "bounds that are not numbers": partial(with_manifest, certificate={"lower": np.nan, "upper": np.nan}),
    "other classes": partial(with_manifest, classes=["well", "ill"]),
    "format as text": partial(with_manifest, format="1"),
    "format of the future": partial(with_manifest, format=99, versions=[1]),
    "no target": partial(without_key, key="target"),
    "no names": partial(without_key, key="feature_names"),
    "no classes": partial(without_key, key="classes"),
    "nested manifest": lambda path, members: write(path, members, b"[" * 1_000_000),
    "nested description": lambda path, members: write(path, members | {SCHEMA: b"[" * 1_000_000}),
    "manifest in another encoding": lambda path, members: write(path, members, b"\xff\xfe\x00"),
    "manifest as list": lambda path, members: write(path, members, []),
}


def save_sound(path: Path) -> None:
    """The model file that the others are made of."""
    X, y, names = table()
    imputer, scaler = SimpleImputer(strategy="median").fit(X), ClippedScaler().fit(X)
    seen = scaler.transform(X)
    with quiet_fits():
        model = MinimaxRiskClassifier().fit(seen, y)
    scale = training_scale(model, seen, y, before_scaling=X)
    saved = SavedModel(
        model, names, "class", fingerprint(X, y, names), imputer=imputer, scaler=scaler, training_scale=scale
    )
    save_model(saved, path)


def write_all(folder: Path) -> dict[str, Path]:
    """Write the sound file, a table to predict, and all hostile files."""
    save_sound(folder / "sound.skops")
    X, _, names = table()
    lines = [",".join(["sample", *names]), *(",".join([f"s{i}", *map(str, row)]) for i, row in enumerate(X))]
    (folder / "table.csv").write_text("\n".join(lines))
    members, paths = members_of(folder / "sound.skops"), {}
    for i, (name, make) in enumerate(HOSTILE.items()):
        paths[name] = folder / f"{i:02}.skops"
        make(paths[name], dict(members))
    return paths


def opened(model: Path, data: Path) -> dict[str, Any]:
    """``predict`` in a child process with limited memory: status, what it wrote, seconds, memory."""
    before, begun = set(data.parent.iterdir()), time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            try:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                signal.alarm(MOST_SECONDS)
                sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
                sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
                from minimaxrisk.app.cli import main  # noqa: PLC0415

                status = main(["predict", str(model), str(data), "--quiet"])
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
            finally:
                os._exit(99)
        _, status, used = os.wait4(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return {
        "status": os.waitstatus_to_exitcode(status),
        "out": texts[0],
        "err": texts[1],
        "seconds": time.monotonic() - begun,
        "megabytes": used.ru_maxrss / 1024,
        "new": sorted(path.name for path in set(data.parent.iterdir()) - before),
    }


def main(folder: Path) -> None:
    paths = write_all(folder)
    opened(folder / "sound.skops", folder / "table.csv")
    sys.stdout.write(
        "| file | bytes | exit | message | seconds | MB |\n| --- | --- | --- | --- | --- | --- |\n"
    )
    for name, path in {"(sound)": folder / "sound.skops", **paths}.items():
        found = opened(path, folder / "table.csv")
        told = found["err"].strip().replace(str(folder), "").replace("|", "\\|").splitlines()
        message = f"{told[-1]:.110}" + (f" ({len(told)} lines)" if len(told) > 1 else "") if told else ""
        sys.stdout.write(
            f"| {name} | {path.stat().st_size:,} | {found['status']} | {message} | {found['seconds']:.1f} | "
            f"{found['megabytes']:.0f} |\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
