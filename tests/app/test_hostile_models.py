"""Model files that were made to deceive are refused; files changed anywhere are refused or harmless."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("skops", reason="comes with the extra 'app'")

from minimaxrisk.app.storage import load_model, save_model
from tests.corpora.hostile_models import HOSTILE, members_of, opened, table, write, write_all


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    return folder, write_all(folder)


def test_a_sound_model_predicts(files):
    folder, _ = files
    assert opened(folder / "sound.skops", folder / "table.csv")["status"] == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_is_refused(files, name):
    folder, paths = files
    found = opened(paths[name], folder / "table.csv")
    assert found["status"] == 2, found
    assert len(found["err"].splitlines()) == 1
    assert paths[name].name in found["err"]
    assert (found["out"], found["new"]) == ("", [])


def _places(node, path=()):
    """The paths to all texts and numbers of a description."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _places(value, (*path, key))
    else:
        yield path


OTHERS = [
    None,
    -1,
    10**20,
    "",
    "x",
    [],
    {},
    "null",
    "1e999",
    "[1]",
    "builtins",
    "DictNode",
    "sklearn.svm._classes",
]


def test_a_description_changed_anywhere_is_refused_or_harmless(files, tmp_path):
    """The digest is that of the changed file, as an attacker would compute it."""
    folder, _ = files
    members, random = members_of(folder / "sound.skops"), np.random.default_rng(0)
    places = list(_places(json.loads(members["schema.json"])))
    X, _, _ = table()
    refused = 0
    for i in random.choice(len(places), 120, replace=False):
        schema = json.loads(members["schema.json"])
        *path, last = places[i]
        inner = schema
        for key in path:
            inner = inner[key]
        inner[last] = OTHERS[random.integers(len(OTHERS))]
        write(tmp_path / "m.skops", members | {"schema.json": json.dumps(schema).encode()})
        try:
            saved = load_model(tmp_path / "m.skops")
        except ValueError:
            refused += 1
        else:
            probabilities = saved.classifier.predict_proba(saved.prepared(X))
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
            save_model(saved, tmp_path / "again.skops")
    assert refused > 60
