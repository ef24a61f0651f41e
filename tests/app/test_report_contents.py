"""What reviewers and biologists look for: genes to take away, left-out samples, a page from Python."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.pipeline import make_pipeline

from minimaxrisk import ClippedScaler, MinimaxRiskClassifier
from minimaxrisk.analysis.contrasts import class_contrasts
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.app.cli import main
from minimaxrisk.app.cli.console import Console
from minimaxrisk.app.cli.reporting import read_annotation
from minimaxrisk.app.files import read_training_study
from minimaxrisk.app.report import explanations, page, report, verdict
from minimaxrisk.app.report.page import Provenance, _genes, json_island, render_report
from minimaxrisk.app.report.tables import gene_table, write_genes
from minimaxrisk.app.report.vega import more_colours
from minimaxrisk.datasets import make_expression
from terminal import unwrapped
from tests.folds import decided, folds_of
from tests.report_findings import gather_findings

pytest.importorskip("jinja2", reason="comes with the extra 'app'")
pytest.importorskip("vl_convert", reason="comes with the extra 'app'")

PROVENANCE = Provenance("fit", "study.csv", "diagnosis", "1234", {"minimaxrisk": "0.1.0"})
FEW = {"n_permutations": 0, "n_folds": 3, "n_radii": 0, "guarantee": False}


@pytest.fixture(scope="module")
def study():
    data = make_expression(60, 60, n_informative=10, effect=0.8, random_state=0)
    return data.data, np.array(["healthy", "ill"])[data.target]


@pytest.fixture(scope="module")
def findings(study):
    X, y = study
    model = MinimaxRiskClassifier().fit(X, y)
    return gather_findings(model, X, y, feature_names=[f"G{j}" for j in range(60)], n_repeats=3, **FEW)


@pytest.fixture(scope="module")
def three():
    random = np.random.default_rng(1)
    X, y = random.standard_normal((45, 12)), np.repeat([0, 1, 2], [20, 15, 10])
    X[y == 1, 0] += 2
    return X, y


# ---- features one by one


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_contrasts_are_welchs_tests_of_each_class_against_the_rest(three, kind):
    X, own = three
    X = np.where(X > 0, X, 0.0)
    X[:, 5] = 1.0
    found = class_contrasts(kind(X), own, 3)
    varying = np.delete(np.arange(12), 5)
    for k in range(3):
        expected = stats.ttest_ind(X[own == k][:, varying], X[own != k][:, varying], equal_var=False)
        np.testing.assert_allclose(found.t[k, varying], expected.statistic)
        np.testing.assert_allclose(found.p[k, varying], expected.pvalue)
        np.testing.assert_allclose(found.q[k, varying], stats.false_discovery_control(expected.pvalue))
        difference = X[own == k].mean(axis=0) - X[own != k].mean(axis=0)
        np.testing.assert_allclose(found.difference[k], difference, atol=1e-12)
    assert np.isnan(found.t[:, 5]).all()
    assert np.isnan(found.q[:, 5]).all()


def test_two_classes_have_one_contrast(three):
    X, own = three
    X, own = X[own < 2], own[own < 2]
    found = class_contrasts(X, own, 2)
    assert found.labels.tolist() == [1]
    ratio = X[own == 1].mean(axis=0) / X[own == 0].mean(axis=0)
    both = (X[own == 1].mean(axis=0) > 0) & (X[own == 0].mean(axis=0) > 0)
    np.testing.assert_allclose(found.log2_ratio[0, both], np.log2(ratio[both]))
    assert np.isnan(found.log2_ratio[0, ~both]).all()


def test_a_class_of_one_sample_has_means_and_no_test(three):
    X, own = three
    keep = np.r_[np.flatnonzero(own < 2), np.flatnonzero(own == 2)[:1]]
    found = class_contrasts(X[keep], own[keep], 3)
    assert np.isnan(found.t[2]).all()
    np.testing.assert_allclose(found.class_means[2], X[keep[-1]])


# ---- genes out


def test_selection_frequency_counts_the_folds(study, findings):
    X, y = study
    expected = np.zeros(60)
    for seed in range(3):
        for train, _ in folds_of(y, 3, seed).split():
            expected[MinimaxRiskClassifier().fit(X[train], y[train]).selected_features_] += 1 / 9
    table = findings.features
    np.testing.assert_allclose(table.frequency, expected[table.columns])


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_genes_are_written_as_they_are(findings, tmp_path, ending):
    hostile = ["SEPT2", "=1+1", 'a "b", c', "<&>\x07"]
    symbols = [hostile[j % 4] for j in range(60)]
    headers, cells = gene_table(findings.features, findings.data.classes, {"symbol": symbols})
    path = tmp_path / f"genes.{ending}"
    write_genes(path, headers, cells)
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="," if ending == "csv" else "\t")
    assert header == headers
    assert len(rows) == findings.features.n_selected
    for row, j, value in zip(rows, findings.features.columns, findings.features.q[0], strict=True):
        record = dict(zip(header, row, strict=True))
        assert record["feature"] == f"G{j}"
        assert record["symbol"] == symbols[j]
        assert float(record["q (descriptive), ill less healthy"]) == value
        assert 0.0 <= float(record["share selected in folds"]) <= 1.0


def fold_changes(X, y, scaler=None):
    """The columns of the file of genes that are fold changes, by header, and the features of its rows."""
    model = MinimaxRiskClassifier().fit(X if scaler is None else scaler.fit_transform(X), y)
    found = gather_findings(model, X, y, scaler=scaler, **FEW)
    headers, rows = gene_table(found.features, found.data.classes)
    chosen = [j for j, name in enumerate(headers) if name.startswith("log2 fold change")]
    return {headers[j]: [row[j] for row in rows] for j in chosen}, found.features.columns


@pytest.mark.parametrize("scaler", [None, ClippedScaler()], ids=["as it is", "clipped"])
def test_fold_changes_are_those_of_the_values_as_they_were_measured(study, scaler):
    logs, y = study[0] + 8.0, study[1]
    ill, raw = y == "ill", np.exp2(logs)
    found, columns = fold_changes(raw, y, scaler)
    means = np.log2(raw[ill].mean(axis=0) / raw[~ill].mean(axis=0))
    assert list(found) == ["log2 fold change (log2 of the ratio of means), ill less healthy"]
    np.testing.assert_allclose(*found.values(), means[columns])
    found, columns = fold_changes(logs, y, scaler)
    means = logs[ill].mean(axis=0) - logs[~ill].mean(axis=0)
    name = "log2 fold change (difference of means of the values, taken as log2), ill less healthy"
    assert list(found) == [name]
    np.testing.assert_allclose(found[name], means[columns])
    scaled = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    assert fold_changes(scaled, y, scaler)[0] == {}


def test_an_annotation_called_like_a_column(findings):
    found = findings.features
    headers, rows = gene_table(found, findings.data.classes, {"feature": [str(j) for j in range(60)]})
    assert headers[:3] == ["feature", "feature", "importance"]
    assert [row[:2] for row in rows] == [
        [name, str(j)] for name, j in zip(found.names, found.columns, strict=True)
    ]


def test_genes_at_the_command_line(three, tmp_path, capsys):
    X, y = three
    names = [f"probe_{j}" for j in range(12)]
    table = tmp_path / "genes.csv"
    lines = [",".join(["diagnosis", *names])] + [
        ",".join([f"type {label}", *map(repr, row.tolist())]) for row, label in zip(X, y, strict=True)
    ]
    table.write_text("\n".join(lines), encoding="utf-8")
    about = tmp_path / "probes.tsv"
    about.write_text("probe\tsymbol\nprobe_0\tTP53\nprobe_3\tBRCA1\n", encoding="utf-8")
    out, page = tmp_path / "selected.csv", tmp_path / "r.html"
    options = ["fit", table, "--target", "diagnosis", "--genes", out, "--annotation", about, "--json"]
    options += ["--report", page, "--permutations", 3, "--folds", 2, "--radii", 0, "--no-guarantee"]
    options += ["--links", "ncbi"]
    assert main([str(each) for each in options]) == 0
    said = capsys.readouterr()
    assert "describes 2 of 12 features" in said.err
    found = json.loads(said.out)
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert [row["feature"] for row in rows] == [one["name"] for one in found["selected_features"]]
    assert {row["feature"]: row["symbol"] for row in rows}["probe_0"] == "TP53"
    for name in ("coefficient, type 2", "mean, type 0", "q (descriptive), type 1 less others"):
        assert name in rows[0]
    said = page.read_text(encoding="utf-8")
    assert "Where the time went" in said
    assert '"symbol"' in said
    assert "ncbi.nlm.nih.gov" not in said  # probe_0 is no symbol
    about.write_text("probe,symbol\nx,TP53\n", encoding="utf-8")
    assert main(["fit", str(table), "--target", "diagnosis", "--annotation", str(about)]) == 2
    assert "is a feature of the data, such as 'probe_0'" in unwrapped(capsys.readouterr().err)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_annotations_are_read_like_data(encoding, delimiter, tmp_path):
    about = tmp_path / "probes.csv"
    lines = ["probe, symbol", "µ1 , Müller’s", "b,TP53"]
    about.write_text("\n".join(lines).replace(",", delimiter), encoding=encoding)
    found = read_annotation(about, ["b", "µ1"], Console(quiet=True))
    assert found == {"symbol": ["TP53", "Müller’s"]}


def test_descriptions_of_a_gct_file_in_another_encoding(tmp_path):
    table = tmp_path / "genes.gct"
    lines = ["#1.3", "2\t2\t2\t1", "Name\tDescription\tnothing\tA\tB", "class\t\t\tx\ty"]
    lines += ["µ1\tMüller’s\tna\t0.5\t1", "b\t7157.0\t\t1\t2"]
    table.write_text("\n".join(lines), encoding="cp1252")
    study = read_training_study(table, target="class")
    assert study.descriptions == {"Description": ["Müller’s", "7157.0"]}


def test_an_unknown_site_is_refused_before_the_work():
    with pytest.raises(ValueError, match="links must be one of ncbi, genecards, got 'x'"):
        report(None, None, None, links="x")


def test_links_only_where_asked_for(findings):
    assert '<a class="gene"' not in (page := render_report(findings, PROVENANCE))
    assert "genecards" not in page
    linked = render_report(findings, replace(PROVENANCE, links="genecards"))
    assert linked.count('<a class="gene" href="https://www.genecards.org') == findings.features.n_selected
    assert 'rel="noopener noreferrer"' in linked
    assert "which then learns the name" in linked


# ---- left-out samples


def test_confusion_and_area_are_those_of_scikit_learn(study, findings):
    X, y = study
    said, logits = decided(MinimaxRiskClassifier(), X, y, 3)
    np.testing.assert_array_equal(findings.left_out.confusion, confusion_matrix(y, said))
    area = roc_auc_score(y == "ill", logits[:, 1] - logits[:, 0])
    assert findings.left_out.curves[0].area == pytest.approx(area)
    wrong = {one.name for one in findings.left_out.errors if one.own != one.named}
    assert wrong == {f"sample {i + 1}" for i in np.flatnonzero(said != y)}


def test_errors_are_counted_over_repeats(study, findings):
    X, y = study
    times = np.zeros(60, dtype=int)
    for seed in range(3):
        times += decided(MinimaxRiskClassifier(), X, y, 3, seed)[0] != y
    counted = {one.name: one.n_times for one in findings.left_out.errors}
    assert counted == {f"sample {i + 1}": times[i] for i in np.flatnonzero(times)}
    order = [one.n_times for one in findings.left_out.errors]
    assert order == sorted(order, reverse=True)
    once = cross_validated_error(MinimaxRiskClassifier().fit(X, y), X, y, n_folds=3, calibrated=True)
    assert once.n_wrong == findings.cross_validation.n_wrong
    assert "wrong, of 3 repeats" in render_report(findings, PROVENANCE)
    with pytest.raises(ValueError, match="n_repeats must be a positive integer, got 0"):
        cross_validated_error(MinimaxRiskClassifier().fit(X, y), X, y, n_repeats=0)


def test_several_classes_have_a_curve_each(three):
    X, y = three
    found = gather_findings(MinimaxRiskClassifier().fit(X, y), X, y, **FEW)
    assert [one.name for one in found.left_out.curves] == ["0", "1", "2"]
    _, logits = decided(MinimaxRiskClassifier(), X, y, 3)
    margin = logits[:, 1] - logits[:, [0, 2]].max(axis=1)
    assert found.left_out.curves[1].area == pytest.approx(roc_auc_score(y == 1, margin))


# ---- the page


def test_classes_beyond_ten_have_colours_of_their_own():
    assert more_colours(10) == ""
    rules = re.findall(r"--(c\d+): ([^;]+);", more_colours(30).split("@media")[0])
    assert [name for name, _ in rules] == [f"c{k}" for k in range(10, 30)]
    assert len({colour for _, colour in rules}) == 20


def test_features_beyond_those_of_the_table_are_in_the_page():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((40, 1200)), np.repeat([0, 1], 20)
    model = MinimaxRiskClassifier().fit(X, y)
    model.selected_features_ = np.arange(1200)  # as if all of them were
    found = gather_findings(model, X, y, **FEW | {"n_folds": 0})
    page = render_report(found, PROVENANCE)
    island = json.loads(re.search(r'id="drawings">(.*?)</script>', page, flags=re.DOTALL)[1])
    n_shown = island["more"]["from"]
    assert page.count('<tr data-place="') + page.count("<tr><th") >= n_shown > 200
    assert len(island["more"]["last"]) == 1200 - n_shown
    assert {len(column) for column in island["genes"]["columns"]} == {1200}
    assert "Show all 1,200 features here" in page


def test_equal_columns_are_stored_once():
    data = make_expression(30, 20, effect=1.0, random_state=0)
    model = MinimaxRiskClassifier().fit(data.data, data.target)
    found = gather_findings(model, data.data, data.target, **FEW | {"n_folds": 0})
    genes = json.loads(json_island(_genes(found, {})))
    headers, rows = gene_table(found.features, found.data.classes)
    assert found.features.fold_change.kind == "difference"
    assert len(genes["columns"]) == len(headers) - 1  # the fold change is the difference
    for k, header in enumerate(headers):
        stored, digits = genes["columns"][genes["places"][k]], 2e-2 if header.startswith("q ") else 2e-3
        assert genes["headers"][k] == header
        for cell, row in zip(stored, rows, strict=True):
            assert cell == (row[k] if isinstance(row[k], str) else pytest.approx(row[k], rel=digits))


def test_the_scripts_are_kept_and_damage_is_noticed(tmp_path, monkeypatch):
    built = []

    class Converter:
        __version__ = "9"

        @staticmethod
        def javascript_bundle():
            built.append(1)
            return "code</script>\r\n"

    monkeypatch.setattr(page, "require", lambda _: Converter)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fresh = page.vega_bundle
    assert fresh() == fresh() == "{code<\\/script>\n}"
    assert len(built) == 1
    (kept,) = (tmp_path / "minimaxrisk").iterdir()
    kept.write_bytes(kept.read_bytes()[:-3])
    assert fresh() == "{code<\\/script>\n}"
    assert len(built) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert fresh() == "{code<\\/script>\n}"


# ---- from Python


def test_a_report_in_one_call(study, tmp_path):
    X, y = study
    path = tmp_path / "r.html"
    made = report(MinimaxRiskClassifier().fit(X, y), X, y, path, target="diagnosis", **FEW)
    assert path.read_text(encoding="utf-8") == made.html
    assert "diagnosis" in made.html
    shown = made._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<script" not in shown
    assert repr(made) == f"<Report, saved as {str(path)!r}: {verdict.headline(made.findings)}>"
    assert repr(replace(made, path=None)).startswith("<Report, not saved: ")
    pipeline = make_pipeline(ClippedScaler(), MinimaxRiskClassifier()).fit(X, y)
    assert "robust standard deviations" in report(pipeline, X, y, **FEW).html
    with pytest.raises(ValueError, match="there is no folder"):
        report(pipeline, X, y, tmp_path / "no" / "r.html", n_permutations=10**9)


# ---- speed without another answer


def test_ties_name_no_most_common_class_and_no_most_common_mistake():
    def claims(sizes, confusion):
        data = SimpleNamespace(classes=["a", "b"], class_sizes=sizes, largest_class="a", majority_error=0.5)
        findings = SimpleNamespace(
            guarantee=None, data=data, left_out=SimpleNamespace(confusion=np.array(confusion))
        )
        return verdict.majority_claim(findings), explanations.about_confusion(findings)

    tied, untied = claims([5, 5], [[3, 2], [2, 3]]), claims([6, 4], [[3, 3], [2, 2]])
    assert tied[0] != untied[0]
    assert "“b”" in untied[1]
    assert "“" not in tied[1]
