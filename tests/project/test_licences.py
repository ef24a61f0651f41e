"""A BSD library must not bring packages whose licence would bind its users."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("app", "array-api", "dask", "data", "plot")
# The lesser GPL and Mozilla's licence bind changes to the package itself, not those who use it.
BINDING = ("GPL", "General Public License")
HARMLESS = ("LGPL", "Lesser General Public License")


def all_dependencies(name: str, extras: tuple[str, ...] = ()) -> set[str]:
    """Names of what is installed with a package, with what that needs, and so on."""
    found: set[str] = set()
    due = [(name, extras)]
    while due:
        current, wanted = due.pop()
        for text in distribution(current).requires or []:
            requirement = Requirement(text)
            applies = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in (*wanted, "")
            )
            key = canonicalize_name(requirement.name)
            if applies and key not in found and _is_installed(key):
                found.add(key)
                due.append((key, tuple(requirement.extras)))
    return found


def licence_of(name: str) -> str:
    metadata = distribution(name).metadata
    classifiers = [text for text in metadata.get_all("Classifier") or [] if text.startswith("License")]
    # A field with the whole text names other licences on its way.
    stated = [metadata.get("License-Expression") or "", (metadata.get("License") or "").split("\n")[0]]
    return "; ".join(filter(None, [*stated, *classifiers]))


def is_binding(licence: str) -> bool:
    for word in HARMLESS:
        licence = licence.replace(word, "")
    return any(word in licence for word in BINDING)


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT", False),
        ("GPL-3.0-or-later", True),
        ("LGPL-2.1", False),
        ("GNU General Public License v3", True),
    ],
)
def test_binding_licences_are_recognised(licence, expected):
    assert is_binding(licence) is expected


def test_no_dependency_has_a_binding_licence():
    names = all_dependencies("minimaxrisk", EXTRAS)
    assert {"numpy", "scikit-learn", "highspy", "joblib", "skops", "matplotlib"} <= names
    known = {name: licence_of(name) for name in names}
    assert all(known.values()), [name for name, licence in known.items() if not licence]
    assert not {name: licence for name, licence in known.items() if is_binding(licence)}


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:  # needed on another system or by another Python only
        return False
    return True
