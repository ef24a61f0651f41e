"""Data checks on the corpora: each honest table has exactly its findings, and each mistake is found."""

from __future__ import annotations

import pytest

from corpora.checked import findings_of
from corpora.honest import HONEST
from corpora.mistakes import MISTAKES, NOT_FOUND
from minimaxrisk.checks.findings import CODES, VETO


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_table_has_the_findings_that_were_written_down(name):
    table = HONEST[name]()
    found = {finding.code: finding.severity for finding in findings_of(table)}
    assert found == {code: table.severity(code) for code in table.expected}
    assert VETO not in found.values()


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name):
    table = MISTAKES[name]()
    found = {finding.code: finding.severity for finding in findings_of(table)}
    missed = {code for code in table.expected if found.get(code) != table.severity(code)}
    assert missed == ({NOT_FOUND[name]} if name in NOT_FOUND else set())


def test_the_corpus_is_as_large_as_promised():
    assert len(HONEST) >= 60
    found_in = {code: {n for n, build in MISTAKES.items() if code in build().expected} for code in ALL_CODES}
    assert not {code for code, names in found_in.items() if len(names - NOT_FOUND.keys()) < 2}


# ``training-samples`` is about samples of a second file.
ALL_CODES = {code for codes in CODES.values() for code in codes} - {"training-samples"}


@pytest.mark.parametrize("name", ["duplicates-expression", "smote-panel", "row-median-of-all"])
def test_findings_name_their_samples(name):
    table = MISTAKES[name]()
    for finding in findings_of(table):
        assert finding.samples == tuple(table.sample_names[i] for i in finding.rows)
        assert set(finding.as_dict()) >= {"code", "severity", "message"}
