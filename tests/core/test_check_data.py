"""`check_data` and single checks, where the corpora of tables do not reach."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from minimaxrisk import ClippedScaler, MinimaxRiskClassifier, check_data
from minimaxrisk.analysis.contrasts import class_contrasts
from minimaxrisk.analysis.data import evidence_of
from minimaxrisk.checks import names, sample_numbers, scales
from minimaxrisk.checks.findings import VETO
from minimaxrisk.checks.table import StudyTable
from minimaxrisk.datasets import make_expression

# The data sets whose values are raw; those of the others are logarithms, or zeros and ones.
RAW = {"Arcene", "Colon", "Leukemia", "MLL", "TOX_171", "Lung_1543"}
OTHERS = {"GLIOMA", "Prostate_GE", "Dorothea", "CLL_SUB_111_binarised", "GLI_85_Freije_genes"}


@pytest.fixture(scope="module")
def study():
    """Base-2 logarithms of 40 samples."""
    made = make_expression(40, 60, n_informative=5, effect=1.5, random_state=0)
    return 8.0 + made.data, np.asarray(made.target).astype(str)


def codes(*arguments, **options):
    return [finding.code for finding in check_data(*arguments, **options)]


class TestRealData:
    @pytest.mark.parametrize("name", sorted(RAW | OTHERS))
    def test_real_data_have_notes_at_most(self, name, real_data):
        X, y = real_data(name)
        rng = np.random.default_rng(0)
        n = len(y)
        for rows in (np.arange(n), *(rng.permutation(n)[: n // 2] for _ in range(3))):
            found = set(codes(X[rows], y[rows]))
            assert found <= {"raw-counts", "raw-intensities"}
            assert bool(found) == (name in RAW)

    @pytest.mark.parametrize("name", ["GLIOMA", "Prostate_GE", "GLI_85_Freije_genes"])
    @pytest.mark.parametrize("by_class", [True, False])
    def test_raw_values_among_logarithms_are_found(self, name, by_class, real_data):
        X, y = real_data(name)
        raw = y == y[0] if by_class else np.random.default_rng(0).random(len(y)) < 0.5
        base = 10.0 if X.max() < 6 else 2.0
        mixed = np.where(raw[:, None], base**X, X)
        found = scales.on_another_scale(mixed)
        assert np.array_equal(found, raw) or np.array_equal(found, ~raw)
        assert ("scale-by-class" if by_class else "scale-mismatch") in codes(mixed, y)


class TestScales:
    def test_a_single_sample_on_another_scale_is_found(self, study):
        X, _ = study
        mixed = X.copy()
        mixed[7] = 2.0 ** X[7]
        assert np.flatnonzero(scales.on_another_scale(mixed)).tolist() == [7]
        # A single value, as a code or a typing error, is not a scale, and neither are missing values.
        few = X.copy()
        few[3, 5], few[4, 5] = -999.0, 1e6
        few[5, :20] = np.nan
        assert scales.on_another_scale(few) is None
        assert scales.on_another_scale(mixed[:9]) is None  # too few to say what is usual
        assert scales.on_another_scale(mixed[:, :49]) is None

    @pytest.mark.parametrize("n", [24, 100])
    def test_sizes_that_range_widely_are_not_another_scale(self, n):
        rng = np.random.default_rng(0)
        found = 0
        for _ in range(20):
            size = rng.normal(size=(n, 1))
            found += scales.on_another_scale(np.exp(rng.normal(size=(n, 100)) + size)) is not None
            walk = np.exp(0.7 * size) * np.cumsum(rng.normal(size=(n, 100)), axis=1)
            found += scales.on_another_scale(walk) is not None
        assert found <= 1

    def test_sparse_counts_among_logarithms_are_found(self):
        rng = np.random.default_rng(0)
        counts = rng.poisson(rng.gamma(0.5, 2.0, 300), (80, 300)).astype(float)
        assert scales.on_another_scale(sparse.csr_matrix(counts)) is None
        counts[:30] = np.log1p(counts[:30])
        mixed = sparse.csr_matrix(counts)
        assert np.array_equal(scales.on_another_scale(mixed), np.arange(80) < 30)
        halves = (np.repeat(mixed.data / 2, 2), np.repeat(mixed.indices, 2), 2 * mixed.indptr)
        summed = sparse.csr_matrix(halves, shape=mixed.shape)
        assert np.array_equal(scales.on_another_scale(summed), np.arange(80) < 30)
        assert summed.nnz == 2 * mixed.nnz  # the caller's matrix stays as it was

    def test_codes_for_missing_values(self):
        coded = np.array([[-999.0, 1.0], [2.0, -999.0]])
        assert scales.missing_code(coded) == (-999.0, 2)
        assert scales.missing_code(np.where(coded == -999, -998, coded)) is None
        assert scales.missing_code(np.where(coded == 2, -600, coded)) is None


class TestNumbersOfSamples:
    def test_a_number_is_compared_with_the_model(self, study):
        X, y = study
        own = np.unique(y, return_inverse=True)[1]
        level = X + 1.5 * own[:, None] + 0.2 * np.random.default_rng(0).normal(size=(40, 1))
        table = StudyTable(level, y, [f"g{j}" for j in range(60)], range(40))
        evidence = evidence_of(MinimaxRiskClassifier().fit(level, y), own)
        assert [one.code for one in sample_numbers.number_findings(table)] == ["sample-number"]
        found = list(sample_numbers.number_findings(table, evidence))
        assert found[0].numbers["n_wrong_of_model"] == 0

    def test_an_order_counts_if_scores_follow_it_within_classes(self):
        own, row = np.repeat([0, 1], 30), np.arange(60.0)
        noise, orders = np.random.default_rng(0).normal(size=60), {sample_numbers.ROW: row}
        within = np.tile(np.linspace(-1.0, 1.0, 30), 2)
        for slope, counts in ((0.0, False), (0.4, False), (1.5, True), (-1.5, False)):
            scores = 5.0 * own + slope * within + noise
            found = sample_numbers.explaining_order(orders, own, own, scores)
            assert (found is not None) == counts

    def test_one_class_alone_has_no_contrasts(self):
        found = class_contrasts(np.arange(12.0).reshape(4, 3), np.zeros(4, dtype=int), 1)
        assert np.isnan(found.difference).all()
        assert np.isnan(found.p).all()
        assert found.class_means.tolist() == [[4.5, 5.5, 6.5]]


class TestNames:
    @pytest.mark.parametrize(
        ("kind", "examples"),
        {
            names.BATCH: "batch plate Plate2 batch_1 RIN scan_date",
            names.IDENTITY: "MRN patient_id Sample-ID",
            names.OUTCOME: "os_months OS days.to.relapse vital_status",
            names.TRAIT: "age Sex age_at_surgery PSA",
            None: "RIN2 NR1H2 OS9 TP53 AGER hsa-miR-21 PSAP time year case event status prothrombin_time "
            "dead_space death_receptor_5 survival_motor_neuron plate_count reaction_time",
        }.items(),
    )
    def test_whole_names_of_columns_that_are_not_measurements(self, kind, examples):
        assert {name: names.column_kind(name) for name in examples.split()} == dict.fromkeys(
            examples.split(), kind
        )

    @pytest.mark.parametrize(
        ("samples", "n_sources"),
        [
            ([f"PAT{i // 2:02d}_rep{i % 2}" for i in range(20)], 10),
            ([f"P{i // 2}_{'ab'[i % 2]}" for i in range(20)], 10),
            ([f"mouse {i // 3}.{i % 3}" for i in range(30)], 10),
            ([*(f"P{i:03d}" for i in range(20)), "P003 (2)", "P004_rep2"], 20),
            ([f"GSM{i}" for i in range(20)], None),
            ([f"TCGA-A1-A0{i:02d}-01" for i in range(20)], None),
            (["normal", *(f"normal.{i}" for i in range(1, 9))], None),
            ([f"plate{i // 20}_{i % 20}" for i in range(40)], None),
            ([], None),
        ],
    )
    def test_sources(self, samples, n_sources):
        found = names.sources_by_name(samples)
        assert (found is None) == (n_sources is None)
        assert found is None or len(np.unique(found)) == n_sources

    def test_columns_that_name_owners(self):
        for name in ("donor", "Patient", "patient_id", "Subject ID", "mouse.no"):
            assert names.names_an_owner(name), name
        for name in ("patient_age", "sample_type", "donor_sex", "id", "MOUSEGENE"):
            assert not names.names_an_owner(name), name

    def test_labels_without_class(self):
        labels = np.array(["ill", "well", "Unknown", "QC", "not reported", "None", "+", "-", "NA"])
        assert names.labels_without_class(labels) == ["QC", "Unknown", "not reported"]
        assert names.labels_without_class(np.array([0, 1, -9, -99])) == ["-99"]
        for honest in ([0, 1, 2], [1, 99], [97, 98, 99], [0, 10, 100]):
            assert names.labels_without_class(np.array(honest)) == []

    @pytest.mark.parametrize(
        ("labels", "groups"),
        [
            (["Sepsis", "sepsis ", " sepsis"], [["Sepsis", "sepsis ", " sepsis"]]),
            (["no  sepsis", "No sepsis", "T 1", "t1"], [["no  sepsis", "No sepsis"], ["T 1", "t1"]]),
            (["α cell", "β cell", "肿瘤", "正常", "AML", "AML?", "T cell", "B cell"], []),
            (["I-II", "III", "Stage I/II", "Stage III", "1/2 a", "12a"], []),
            (["HER2", "HER2-", "HER2+", "CD4", "CD4-", "p53", "p53-/-"], []),
            (["four", "for", "T1-T2", "T1T2", "Tumor", "Tumour"], []),
            (["<5", ">5", "=5", "+", "--", "1.0", "1", "-1.5", "15"], []),
        ],
    )
    def test_spellings_of_a_class(self, labels, groups):
        assert names.same_words(labels) == groups

    def test_measurements_as_labels(self):
        for labels in (np.arange(40, 52), [f"{0.5 * i}" for i in range(9)]):
            assert names.are_measurements(np.asarray(labels))
        for honest in (np.arange(10), np.arange(1, 27), [40, 50, 60], [f"c{i}" for i in range(20)]):
            assert not names.are_measurements(np.asarray(honest))


class TestModels:
    def test_a_column_that_the_model_does_not_use_does_no_harm(self, study):
        pd = pytest.importorskip("pandas")
        X, y = study
        frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(60)])
        for values, expected in ((np.where(y == y[0], 1.0, 2.0), ["label-copy"]), (np.ones(40), [])):
            with_it = frame.assign(plate=values)
            assert codes(with_it, y, model=MinimaxRiskClassifier().fit(with_it, y)) == expected

    @pytest.mark.parametrize("n_flipped", [0, 3, 5])
    def test_a_copy_of_the_labels_with_errors(self, n_flipped):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], [40, 22])
        copy = y.astype(float)
        flipped = rng.choice(62, n_flipped, replace=False)
        copy[flipped] = 1.0 - copy[flipped]
        X = np.column_stack([rng.normal(8.0, 1.0, (62, 500)), copy])
        (finding,) = check_data(X, y, model=MinimaxRiskClassifier().fit(X, y))
        assert finding.code == ("near-label-copy" if n_flipped else "label-copy")
        assert finding.columns == ("column 500",)

    def test_batches(self, study):
        X, y = study
        model = MinimaxRiskClassifier().fit(X, y)
        (finding,) = check_data(X, y, model=model, batch=y)
        assert (finding.code, finding.severity) == ("batch-is-class", VETO)
        assert codes(X, y, batch=y) == ["batch-is-class"]
        assert codes(X, y, model=model, batch=np.arange(40) // 2 % 2) == []
        assert codes(X, y, batch=np.arange(40)) == []  # batches of one sample each

    def test_a_pipeline_is_refused(self, study):
        piped = make_pipeline(ClippedScaler(), MinimaxRiskClassifier(radius=2.0)).fit(*study)
        with pytest.raises(ValueError, match="pipeline"):
            check_data(*study, model=piped)


class TestArguments:
    def test_labels_in_another_order(self, study):
        pd = pytest.importorskip("pandas")
        X, y = study
        frame = pd.DataFrame(X, index=[f"s{i}" for i in range(40)])
        labels = pd.Series(y, index=frame.index)
        turned = labels.iloc[::-1]
        for right in (labels, turned.loc[frame.index], turned.to_numpy(), turned.set_axis(range(40))):
            check_data(frame, right)
        for wrong in (check_data, MinimaxRiskClassifier().fit):
            with pytest.raises(ValueError, match=r"^y has the index"):
                wrong(frame, turned)

    def test_it_refuses_what_a_fit_refuses(self, study):
        pd = pytest.importorskip("pandas")
        X, y = study
        frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(60)])
        model, half = MinimaxRiskClassifier().fit(frame, y), np.arange(40) // 2 % 2
        infinite = X.copy()
        infinite[0, 0], infinite[2, 3] = np.nan, -np.inf
        for X_, more, words in (
            (np.full((40, 2), "a"), {}, "could not convert string to float"),
            (frame.assign(sex="f"), {}, "'sex'"),
            (infinite, {}, "infinity .* row 2, column 3"),
            (X, {"groups": half[:9]}, "^groups"),
            (X, {"groups": np.full(40, np.nan)}, "^groups"),
            (X, {"batch": half[:9], "model": model}, "^batch"),
            (X, {"feature_names": ["a"]}, "^feature_names"),
            (X, {"sample_names": range(50)}, "^sample_names"),
            (X[:, :3], {"model": model}, "60"),
            (frame[frame.columns[::-1]], {"model": model}, "[Ff]eature names"),
        ):
            with pytest.raises(ValueError, match=f"(?s){words}"):
                check_data(X_, y, **more)
        with pytest.raises(ValueError, match="classes"):
            check_data(X, half, model=model)

    def test_batches_are_known_to_all_checks(self, study):
        """Matched samples of a batch are not replicates that need groups."""
        X, _ = study
        y, batch = np.arange(40) % 2, np.arange(40) // 2
        samples = [f"P{i // 2:02d}_rep{i % 2}" for i in range(40)]
        assert codes(X, y, sample_names=samples) == ["source-names"]
        assert codes(X, y, sample_names=samples, batch=batch) == []
