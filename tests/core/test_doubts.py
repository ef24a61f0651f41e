"""What casts doubt on a result: each check finds its mistake, and is silent on honest data."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from minimaxrisk import ClippedScaler, MinimaxRiskClassifier, check_data
from minimaxrisk.analysis import columns, names, scales, synthetic, trivial_rules
from minimaxrisk.analysis.contrasts import class_contrasts
from minimaxrisk.analysis.cross_validation import cross_validated_error
from minimaxrisk.analysis.doubts import doubt_about_estimates, doubts_about_numbers
from minimaxrisk.datasets import make_expression

# The data sets whose values are raw; those of the others are logarithms, or zeros and ones.
RAW = {"Arcene", "Colon", "Leukemia", "MLL", "TOX_171", "Lung_1543"}
OTHERS = {"GLIOMA", "Prostate_GE", "Dorothea", "CLL_SUB_111_binarised", "GLI_85_Freije_genes"}


@pytest.fixture(scope="module")
def study():
    """Base-2 logarithms of 40 samples."""
    made = make_expression(40, 60, n_informative=5, effect=1.5, random_state=0)
    return 8.0 + made.data, np.asarray(made.target).astype(str)


def kinds(*arguments, **options):
    return [doubt.kind for doubt in check_data(*arguments, **options)]


class TestRealData:
    @pytest.mark.parametrize("name", sorted(RAW | OTHERS))
    def test_honest_data_are_not_doubted(self, name, real_data):
        X, y = real_data(name)
        rng = np.random.default_rng(0)
        n = len(y)
        for rows in (np.arange(n), *(rng.permutation(n)[: n // 2] for _ in range(3))):
            found = check_data(X[rows], y[rows])
            assert not [doubt for doubt in found if doubt.is_about_validity]
            assert [doubt.kind for doubt in found] == ["scale"] * (name in RAW)

    @pytest.mark.parametrize("name", ["Colon", "GLIOMA", "Leukemia", "GLI_85_Freije_genes"])
    def test_no_column_carries_a_model_of_honest_data(self, name, real_data):
        X, y = real_data(name)
        model = MinimaxRiskClassifier().fit(X, y)
        assert not [doubt for doubt in check_data(X, y, model=model) if doubt.is_about_validity]
        # Nor does a number of a sample, or its line, although some files are sorted by class.
        left_out = cross_validated_error(model, X, y)
        assert doubts_about_numbers(X, y, left_out=left_out, sample_names=range(len(y))) == []

    @pytest.mark.parametrize("name", ["GLIOMA", "Prostate_GE", "GLI_85_Freije_genes"])
    @pytest.mark.parametrize("by_class", [True, False])
    def test_raw_values_beside_logarithms_are_found(self, name, by_class, real_data):
        X, y = real_data(name)
        raw = y == y[0] if by_class else np.random.default_rng(0).random(len(y)) < 0.5
        base = 10.0 if X.max() < 6 else 2.0
        mixed = np.where(raw[:, None], base**X, X)
        found = scales.on_another_scale(mixed)
        assert np.array_equal(found, raw) or np.array_equal(found, ~raw)
        (doubt, *_) = check_data(mixed, y)
        assert doubt.kind == "scale"
        assert doubt.is_about_validity
        assert ("so the scale alone tells the class" in doubt.text) == by_class

    def test_another_base_and_a_shift_are_found(self, real_data):
        X, _ = real_data("GLI_85_Freije_genes")
        half = np.arange(len(X)) < 30
        for changed in (X / np.log2(10), X + 3.0):
            assert np.array_equal(scales.on_another_scale(np.where(half[:, None], changed, X)), half)


class TestScales:
    def test_a_single_sample_on_another_scale_is_found(self, study):
        X, _ = study
        mixed = X.copy()
        mixed[7] = 2.0 ** X[7]
        assert np.flatnonzero(scales.on_another_scale(mixed)).tolist() == [7]
        assert scales.on_another_scale(X) is None
        # A single value, as a code or a typing error, is no scale, and missing values are none.
        few = X.copy()
        few[3, 5], few[4, 5] = -999.0, 1e6
        few[5, :20] = np.nan
        assert scales.on_another_scale(few) is None
        few[7] = 2.0 ** X[7]
        assert np.flatnonzero(scales.on_another_scale(few)).tolist() == [7]
        assert scales.on_another_scale(mixed[:9]) is None  # too few to say what is usual
        assert scales.on_another_scale(mixed[:, :49]) is None

    @pytest.mark.parametrize("n", [24, 100])
    def test_sizes_that_range_widely_are_no_other_scale(self, n):
        rng = np.random.default_rng(0)
        found = 0
        for _ in range(20):
            size = rng.normal(size=(n, 1))
            found += scales.on_another_scale(np.exp(rng.normal(size=(n, 100)) + size)) is not None
            walk = np.exp(0.7 * size) * np.cumsum(rng.normal(size=(n, 100)), axis=1)
            found += scales.on_another_scale(walk) is not None
        assert found <= 1

    def test_sparse_counts_beside_logarithms_are_found(self):
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
        # Of two kinds of decimals, the sizes differ.
        times = sparse.diags(np.where(np.arange(80) < 30, 1.0, 10.0))
        logarithms = mixed.copy()
        logarithms.data = np.log1p(logarithms.data)
        assert scales.on_another_scale(logarithms) is None
        assert np.array_equal(scales.on_another_scale(times @ logarithms), np.arange(80) < 30)

    def test_counts(self):
        assert scales.largest_count(np.array([[900.0, 1], [2, 3]])) == 900
        assert scales.largest_count(np.array([[900.0, np.nan], [2, 3]])) == 900
        for other in ([[900.0, 1.5]], [[900.0, -1]], [[40.0, 3]]):
            assert scales.largest_count(np.array(other)) is None
        # Where most values are zero, small counts are counts; zeros and ones are not.
        small = sparse.random(50, 80, density=0.1, format="csr", random_state=0)
        small.data = np.random.default_rng(0).integers(1, 6, len(small.data)).astype(float)
        assert scales.largest_count(small) == 5
        assert scales.largest_count(small.toarray()) == 5
        assert scales.largest_count(small.minimum(2)) is None

    def test_codes_for_missing_values(self):
        coded = np.array([[-999.0, 1.0], [2.0, -999.0]])
        assert scales.missing_code(coded) == (-999.0, 2)
        assert scales.missing_code(np.where(coded == -999, -998, coded)) is None
        assert scales.missing_code(np.where(coded == 2, -600, coded)) is None
        (doubt,) = check_data(coded, ["a", "b"])
        assert doubt.text.startswith("-999 stands in 2 cells, far below all other values")
        assert not doubt.is_about_validity

    def test_intensities(self, study):
        X, _ = study
        assert not scales.are_intensities(X)
        assert scales.are_intensities(2.0 ** (2.0 * X - 4.0))
        assert not scales.are_intensities(100.0 * X)  # wide, not skewed

    def test_codes_above_all_values(self, study):
        X, y = study
        coded = X.copy()
        coded[[1, 5, 7], [2, 2, 8]] = 999.0
        (doubt,) = check_data(coded, y)  # and no word of logarithms
        assert doubt.text.startswith("999 stands in 3 cells, far above all other values")
        assert scales.missing_code(np.where(coded == 999.0, 998.0, coded)) is None
        coded[1, 2] = coded[5, 2] = 9.0
        assert scales.missing_code(coded) is None  # a single one may be measured

    def test_a_sample_of_zeros(self, study):
        X, y = study
        empty = X.copy()
        empty[4] = 0.0
        (doubt,) = check_data(empty, y)
        assert (
            doubt.text
            == "1 sample with one value in all columns, such as '4' with 0: nothing was measured there."
        )
        assert not doubt.is_about_validity

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda X: X * np.log(2.0), "natural logarithms beside base-2 ones"),
            (lambda X: X / np.log2(10.0), "base-10 logarithms beside base-2 ones"),
            (lambda X: X + 2.0, "values about 2 more in every column"),
            (lambda X: X - 3.0, "values about 3 less in every column"),
            (lambda X: 2.0**X, "raw beside logarithms"),
            (lambda X: 1.8 * X, "differ by a factor of about 1.8"),
        ],
    )
    def test_what_explains_another_scale(self, change, words):
        X = np.random.default_rng(0).normal(8.0, 2.0, (60, 400))
        differs = np.arange(60) < 20
        assert words in scales.difference_in_words(np.where(differs[:, None], change(X), X), differs)


class TestTrivialRules:
    """Labels are shuffled, so whatever tells them is an artefact."""

    @pytest.fixture
    def noise(self):
        rng = np.random.default_rng(1)
        X = rng.normal(8.0, 2.0, (60, 300)) + rng.normal(0.0, 0.2, (60, 1))
        return X, rng.permutation(np.repeat(["ill", "well"], 30))

    def test_nothing_is_said_without_an_artefact(self, noise):
        assert check_data(*noise) == ()

    @pytest.mark.parametrize(
        ("change", "brief", "meaning"),
        [
            (
                lambda X: X * np.log(2.0),
                "the mean of a sample tells the classes apart",
                "look like base-2 logarithms",
            ),
            (
                lambda X: np.where(X < 6.0, 0.0, X),
                "the share of zeros in a sample tells",
                "missing values in one",
            ),
            (
                lambda X: np.where(X < 5.0, np.nan, X),
                "the share of missing values in a sample tells",
                "by class",
            ),
        ],
    )
    def test_a_number_of_a_sample(self, noise, change, brief, meaning):
        X, y = noise
        (doubt,) = check_data(np.where((y == "ill")[:, None], change(X), X), y)
        assert (doubt.kind, doubt.is_about_validity) == ("trivial", True)
        assert doubt.brief.startswith(brief)
        assert meaning in doubt.text

    def test_one_class_of_three(self, noise):
        X, _ = noise
        y = np.arange(60) % 3
        (doubt,) = check_data(X + 1.5 * (y == 2)[:, None], y)
        assert doubt.brief == "the mean of a sample tells '2' from the other classes as well as the model"

    def test_beside_a_model(self, noise):
        own = (noise[1] == "well").astype(int)
        values = own + 0.45 * np.random.default_rng(0).normal(size=60)
        numbers = {trivial_rules.MEAN: values}
        assert trivial_rules.explaining_number(numbers, own) is None  # a model might never err
        wrong = np.where(np.arange(60) < 12, 1 - own, own)
        rule = trivial_rules.explaining_number(numbers, own, wrong)
        assert rule.n_wrong_of_model == 12
        assert trivial_rules.explaining_number(numbers, own, own) is None
        assert trivial_rules.explaining_number({trivial_rules.MEAN: np.arange(60.0) % 7}, own, wrong) is None

    def test_a_drift_along_sorted_lines(self, noise):
        X, _ = noise
        y, names_ = np.repeat([0, 1], 30), [f"GSM{100 + i}" for i in range(60)]
        signal = X + 3.0 * np.outer(y, np.arange(300) < 20)
        signs = np.resize([1.0, -1.0], 300) * (np.arange(300) < 20)
        drift = X + 5.0 * np.outer(np.linspace(-1.0, 1.0, 60), signs)
        said = []
        for values in (signal, drift):
            left_out = cross_validated_error(MinimaxRiskClassifier().fit(values, y), values, y)
            said.append(doubts_about_numbers(values, y, left_out=left_out, sample_names=names_))
        assert said[0] == []
        assert (
            said[1][0].brief
            == "the line of a sample in the file tells the classes apart as well as the model"
        )
        assert set(trivial_rules.sample_orders(names_)) == {
            trivial_rules.LINE,
            trivial_rules.NAME,
            trivial_rules.NUMBER,
        }

    def test_an_order_counts_if_scores_follow_it_within_classes(self):
        own, line = np.repeat([0, 1], 30), np.arange(60.0)
        noise, orders = np.random.default_rng(0).normal(size=60), {trivial_rules.LINE: line}
        within = np.tile(np.linspace(-1.0, 1.0, 30), 2)
        for slope, counts in ((0.0, False), (0.4, False), (1.5, True), (-1.5, False)):
            scores = 5.0 * own + slope * within + noise
            found = trivial_rules.explaining_order(orders, own, own, scores)
            assert (found is not None) == counts

    @pytest.mark.parametrize(
        ("prepare", "change", "brief", "words"),
        [
            (
                np.asarray,
                lambda X: X + 2.0,
                "higher in 'well' by about the same amount, 2",
                "other units or depths",
            ),
            (
                np.asarray,
                lambda X: X - 2.0,
                "higher in 'ill' by about the same amount, 2",
                "another background",
            ),
            (
                np.exp2,
                lambda X: 3.0 * X,
                "higher in 'well' by about the same factor, 3",
                "amounts of material",
            ),
        ],
    )
    def test_all_columns_differ_alike(self, prepare, change, brief, words):
        rng = np.random.default_rng(0)
        y = np.tile(["ill", "well"], 30)
        is_well = (y == "well")[:, None]
        # Samples have levels of their own, which hide the class from their means.
        level = np.repeat(np.linspace(-1.2, 1.2, 30), 2)[:, None]
        logarithms = rng.uniform(6.0, 10.0, 600) + level + 0.5 * rng.normal(size=(60, 600))
        X = prepare(logarithms)
        artefact = np.where(is_well, change(X), X)
        (doubt,) = (one for one in check_data(artefact, y) if one.is_about_validity)
        assert doubt.kind == "trivial"
        assert brief in doubt.brief
        assert words in doubt.text
        gaps = np.where(rng.random(X.shape) < 0.05, np.nan, artefact)
        assert brief[:30] in check_data(gaps, y)[0].brief
        # A few columns may be genes that act together.
        (few,) = (one for one in check_data(artefact[:, :400], y) if one.kind == "trivial")
        assert brief[:30] in few.brief
        assert not few.is_about_validity
        own_way = prepare(logarithms + 0.3 * rng.normal(size=600) * is_well)
        assert "trivial" not in kinds(own_way, y)

    def test_all_columns_of_one_class_of_three_differ_alike(self):
        rng, y = np.random.default_rng(0), np.arange(60) % 3
        level = np.repeat(np.linspace(-1.2, 1.2, 20), 3)[:, None]
        X = rng.uniform(6.0, 10.0, 600) + level + 0.5 * rng.normal(size=(60, 600)) - 2.0 * (y == 1)[:, None]
        (doubt,) = check_data(X, y)
        assert doubt.brief == "all columns are lower in '1' by about the same amount, 2"

    def test_nearly_all_columns_differ(self, noise):
        X, y = noise
        rng = np.random.default_rng(0)
        signs, wide = rng.choice([-2.0, 2.0], 300), 8.0 + (X - 8.0) * np.exp(rng.normal(0.0, 0.3, (60, 1)))
        (doubt,) = check_data(wide + (y == "ill")[:, None] * signs, y)
        assert (doubt.kind, doubt.is_about_validity) == ("labels used", False)

    def test_estimates_that_contradict_each_other(self):
        few, many = (doubt_about_estimates(0, 48, 8, 24, n_train) for n_train in (24, 1000))
        assert "errs for 0 of 48 samples, the hold-out for 8 of 24" in few.text
        assert "Perhaps the model needs more samples to learn than the 24 that it had" in few.text
        assert "Perhaps the labels were used before, to select columns" in many.text
        assert doubt_about_estimates(4, 48, 5, 24, 24) is None
        assert doubt_about_estimates(8, 24, 0, 48, 24) is None

    def test_samples_that_were_made_of_others(self, noise):
        X, y = noise
        ill = np.flatnonzero(y == "ill")
        made = X[ill[:3]] + np.array([[0.2], [0.5], [0.7]]) * (X[ill[3:6]] - X[ill[:3]])
        doubts = check_data(np.vstack([X, np.round(made, 4)]), np.r_[y, ["ill"] * 3])
        assert "3 samples lie exactly between two others, as SMOTE makes them" in [
            one.brief for one in doubts
        ]
        assert synthetic.samples_between(X, y) == []

    def test_gaps_leave_too_few_columns_to_see_a_line_in(self):
        y = np.arange(60) % 2
        for seed in range(5):
            rng = np.random.default_rng(seed)
            gaps = rng.normal(size=(60, 200))
            gaps[rng.random(gaps.shape) < 0.15] = np.nan
            assert check_data(gaps, y) == ()
        constant = np.hstack([rng.normal(size=(60, 1)), np.ones((60, 40))])
        assert synthetic.samples_between(constant, y) == []

    def test_gaps_filled_class_by_class(self, noise):
        X, y = noise
        gaps = np.random.default_rng(0).random(X.shape) < 0.1
        by_class, over_all = X.copy(), np.where(gaps, np.median(X, axis=0), X)
        for label in ("ill", "well"):
            rows = y == label
            by_class[rows] = np.where(
                gaps[rows], np.nanmean(np.where(gaps, np.nan, X)[rows], axis=0), X[rows]
            )
        (doubt,) = check_data(by_class, y)
        assert doubt.brief == "gaps seem to be filled class by class"
        assert check_data(over_all, y) == ()


class TestNames:
    @pytest.mark.parametrize(
        ("kind", "examples"),
        {
            names.BATCH: "batch plate Plate2 batch_1 RIN scan_date",
            names.IDENTITY: "MRN case Nr patient_id",
            names.OUTCOME: "months os_months OS days.to.relapse vital_status",
            names.TRAIT: "age Sex age_at_surgery PSA",
            None: "RIN2 RIN3 NR1H2 OS9 TP53 AGER CASP8 PLAT MYC hsa-miR-21 PSAP 1007_s_at TIMELESS column_3",
        }.items(),
    )
    def test_columns_that_are_no_genes(self, kind, examples):
        assert {name: names.column_kind(name) for name in examples.split()} == dict.fromkeys(
            examples.split(), kind
        )

    def test_they_are_few_among_many(self):
        genes = [f"g{j}" for j in range(30)]
        assert names.odd_names([*genes, "age"]) == {"age": "trait"}
        assert names.odd_names(["age", "sex", "bmi", *genes[:10]]) == {}

    def test_dates_for_genes(self):
        dates = ["2-Sep", "1-Mar", "Sep-02", "10-Oct", "1.Mrz", "Dec-01"]
        assert names.dates_for_names([*dates, "SEPT2", "MARCH1", "DEC1", "2-SEPTIN", "OCT4"]) == [
            name for name in dates if name != "1.Mrz"
        ]

    @pytest.mark.parametrize(
        "called",
        [
            [f"PAT{i // 2:02d}_rep{i % 2}" for i in range(20)],
            [f"P{i // 2}_{'ab'[i % 2]}" for i in range(20)],
            [f"mouse {i // 3}.{i % 3}" for i in range(30)],
            [f"D{i // 4} replicate {i % 4}" for i in range(12)],
        ],
    )
    def test_replicates(self, called):
        owners = names.owners_by_name(called)
        size = next(i for i in range(len(called)) if owners[i] != owners[0])
        assert len(np.unique(owners)) == -(-len(called) // size)

    @pytest.mark.parametrize(
        "called",
        [
            [f"GSM{i}" for i in range(20)],
            [f"TCGA-A1-A0{i:02d}-01" for i in range(20)],
            [f"Tumor_{i}" for i in range(20)] + [f"Normal_{i}" for i in range(20)],
            [f"plate{i // 20}_{i % 20}" for i in range(40)],
            [f"ALL_{i}_B-cell" for i in range(20)],
            ["ACGT"[i % 4] + "ACGTT" * 2 + str(i) + "-1" for i in range(20)],
            [f"{i}" for i in range(20)],
            [f"sample {i}" for i in range(20)],
            [f"2019-{i:02d}" for i in range(20)],
            [],
        ],
    )
    def test_samples_without_replicates(self, called):
        assert names.owners_by_name(called) is None

    def test_repeats_beside_what_they_repeat(self):
        called = [
            "P001",
            "P002",
            "P001_2",
            "P003 (2)",
            "P003",
            "P002.1",
            "AB",
            "AB copy",
            "P003_rep2",
            "Q1_2",
        ]
        assert names.repeats_by_name(called) == {2: 0, 3: 4, 5: 1, 7: 6, 8: 4}
        for honest in (
            ["normal", *(f"normal.{i}" for i in range(1, 9)), "tumor", *(f"tumor.{i}" for i in range(1, 9))],
            ["S1", *(f"S1_{i}" for i in range(1, 10))],
            ["TCGA-A1-A001", "TCGA-A1-A001-01", "HC 12", "HC 123", "A", "A2"],
        ):
            assert names.repeats_by_name(honest) == {}

    def test_lines_that_sum_up_others(self):
        called = ["mean Normal", "Average", "tumour.SUM", *(f"p{i}" for i in range(20))]
        assert names.summaries_by_name(called) == called[:3]
        assert names.summaries_by_name(["meaningless", "MEANS1", "summer", *map(str, range(20))]) == []
        assert names.summaries_by_name([f"Sum {i}" for i in range(20)]) == []

    def test_both_are_doubts(self, study):
        X, y = study
        called = [f"P{i:03d}" for i in range(len(y))]
        assert not check_data(X, y, sample_names=called)
        same = np.flatnonzero(y == y[0])[1]
        called[same], called[-1] = f"{called[0]} (2)", "mean Normal"
        repeats, summary = check_data(X, y, sample_names=called)
        assert f"such as 'P000 (2)' beside 'P000', {len(y)} samples come from {len(y) - 1}" in repeats.text
        assert (repeats.kind, repeats.is_about_validity) == ("groups", True)
        assert "1 sample sums up others by name ('mean Normal')" in summary.text
        assert summary.is_about_validity

    def test_columns_that_name_owners(self):
        for name in ("donor", "Patient", "patient_id", "Subject ID", "mouse.no"):
            assert names.names_an_owner(name), name
        for name in ("patient_age", "sample_type", "donor_sex", "id", "MOUSEGENE"):
            assert not names.names_an_owner(name), name

    def test_labels_of_no_class(self):
        assert names.labels_of_no_class(np.array(["ill", "well", "Unknown", "QC", "not reported"])) == [
            "QC",
            "Unknown",
            "not reported",
        ]
        assert names.labels_of_no_class(np.array(["ER+", "ER-", "none", "control", "normal"])) == []
        assert names.labels_of_no_class(np.array([0, 1, 999999])) == ["999999"]
        assert names.labels_of_no_class(np.array([0, 1, -9, -99])) == ["-99"]
        for honest in ([0, 1, 2], [1, 99], [97, 98, 99], [0, 10, 100]):
            assert names.labels_of_no_class(np.array(honest)) == []

    def test_measurements_for_labels(self):
        assert names.are_measurements(np.arange(40, 52))
        assert names.are_measurements(np.array([0, 3, 4, 7, 9, 12, 20, 31]))
        for honest in (np.arange(10), np.arange(1, 27), [40, 50, 60], [f"c{i}" for i in range(20)]):
            assert not names.are_measurements(np.asarray(honest))


class TestModels:
    def test_a_column_with_an_odd_name_that_the_model_uses(self, study):
        pd = pytest.importorskip("pandas")
        X, y = study
        frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(60)])
        told = np.where(y == y[0], 1.0, 2.0)
        told[3] = 1.5
        for name, kind, is_about_validity in (
            ("plate", "batch", True),
            ("months", "leak", True),
            ("MRN", "leak", True),
            ("age", "clinical", False),
        ):
            with_it = frame.assign(**{name: told})
            model = MinimaxRiskClassifier().fit(with_it, y)
            (doubt,) = check_data(with_it, y, model=model)
            assert (doubt.kind, doubt.columns, doubt.is_about_validity) == (kind, (name,), is_about_validity)
            # A column that the model does not use does no harm.
            constant = frame.assign(**{name: 1.0})
            assert check_data(constant, y, model=MinimaxRiskClassifier().fit(constant, y)) == ()

    def test_a_column_that_carries_the_model(self, study):
        X, y = study
        code = np.where(y == y[0], 0.0, 10.0) + np.random.default_rng(0).normal(size=len(y))
        with_it = np.column_stack([X, code])
        (doubt,) = check_data(with_it, y, model=MinimaxRiskClassifier().fit(with_it, y))
        assert doubt.columns == ("column 60",)
        assert doubt.brief == "is 'column 60' a measurement? It tells a class almost alone"
        assert check_data(X, y, model=MinimaxRiskClassifier().fit(X, y)) == ()

    @pytest.mark.parametrize("n_flipped", [0, 3, 5])
    @pytest.mark.parametrize("spread", [0.0, 0.1])
    def test_a_copy_of_the_labels_with_errors(self, n_flipped, spread):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], [40, 22])
        copy = y.astype(float)
        copy[rng.choice(62, n_flipped, replace=False)] -= 1.0
        with_it = np.column_stack(
            [rng.normal(8.0, 1.0, (62, 500)), np.abs(copy) + spread * rng.normal(size=62)]
        )
        (doubt,) = check_data(with_it, y, model=MinimaxRiskClassifier().fit(with_it, y))
        assert (doubt.kind, doubt.columns) == ("leak", ("column 500",))

    def test_a_rising_accession_number(self, study):
        X, y = study
        order = np.argsort(y)
        number = 0.1 * np.cumsum(np.random.default_rng(0).integers(1, 9, len(y)))
        with_it = np.column_stack([X[order], number])
        (doubt,) = check_data(with_it, y[order], model=MinimaxRiskClassifier().fit(with_it, y[order]))
        assert "rises or falls from line to line" in doubt.text

    def test_what_carries_a_model(self):
        y = np.repeat([0, 1], 10)
        told, noise = np.arange(20.0), np.tile([0.0, 1.0], 10)
        values, called = np.column_stack([told, noise]), ["told", "noise"]
        assert columns.carrying_column(np.array([0.6, 0.4]), values, called, y, values) == "told"
        twin = np.column_stack([values, told])
        assert columns.carrying_column(np.array([0.6, 0.4]), values, called, y, twin) is None
        assert columns.carrying_column(np.array([0.39, 0.61]), values, called, y, values) is None
        assert columns.carrying_column(np.array([0.4, 0.6]), values, called, y, values) is None
        assert columns.carrying_column(np.zeros(2), values, called, y, values) is None
        assert (
            columns.carrying_column(np.array([0.6, 0.4]), values[1:], called, y[1:], values[1:]) is None
        )  # too few

    def test_batches_that_hold_one_class_each(self, study):
        X, y = study
        model = MinimaxRiskClassifier().fit(X, y)
        (doubt,) = check_data(X, y, model=model, batch=y)
        assert (doubt.kind, doubt.is_about_validity) == ("batch", True)
        assert check_data(X, y, model=model, batch=np.arange(len(y)) // 2 % 2) == ()
        with pytest.raises(ValueError, match=r"^batch requires model: we test"):
            check_data(X, y, batch=y)

    def test_a_pipeline_is_refused_with_what_to_pass(self, study):
        piped = make_pipeline(ClippedScaler(), MinimaxRiskClassifier(radius=2.0)).fit(*study)
        with pytest.raises(ValueError, match=r"Of a pipeline pass the last step and the transformed X"):
            check_data(*study, model=piped)


class TestReplicates:
    def test_by_the_index_of_a_frame(self, study):
        pd = pytest.importorskip("pandas")
        X, _ = study
        y = np.repeat(["ill", "well"], 20)
        frame = pd.DataFrame(X, index=[f"PAT{i // 2:02d}_rep{i % 2}" for i in range(40)])
        (doubt,) = check_data(frame, y)
        assert (doubt.kind, doubt.is_about_validity) == ("groups", True)
        assert "20 sources" in doubt.text
        assert check_data(frame, y, groups=np.arange(40) // 2) == ()
        (doubt,) = check_data(frame, np.tile(["ill", "well"], 20))
        assert (doubt.kind, doubt.is_about_validity) == ("groups", False)
        # Groups of three classes have no radii.
        (doubt,) = check_data(frame, np.resize(["ill", "well", "unsure"], 40))
        assert (doubt.kind, doubt.is_about_validity) == ("strata", False)


class TestArguments:
    def test_labels_in_another_order(self, study):
        pd = pytest.importorskip("pandas")
        X, y = study
        frame, labels = pd.DataFrame(X, index=[f"s{i}" for i in range(40)]), None
        labels = pd.Series(y, index=frame.index)
        turned = labels.iloc[::-1]
        expected = re.escape(
            "y has the index of X in another order, such as 's39' at row 0 where X has 's0'."
        )
        with pytest.raises(ValueError, match=f"^{expected}"):
            MinimaxRiskClassifier().fit(frame, turned)
        with pytest.raises(ValueError, match=f"^{expected}"):
            check_data(frame, turned)
        for right in (labels, turned.loc[frame.index], turned.to_numpy(), turned.set_axis(range(40))):
            MinimaxRiskClassifier().fit(frame, right)

    def test_it_checks_as_its_siblings_do(self, study):
        pd = pytest.importorskip("pandas")
        X, y = study
        frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(60)])
        model, half = MinimaxRiskClassifier().fit(frame, y), np.arange(40) // 2 % 2
        infinite = X.copy()
        infinite[0, 0], infinite[2, 3] = np.nan, -np.inf
        for X_, more, words in (
            (np.full((40, 2), "a"), {}, "could not convert string to float"),
            (frame.assign(sex="f"), {}, "its column 'sex' has type"),
            (infinite, {}, r"Input X contains infinity .*The first one is at row 2, column 3\.$"),
            (X, {"groups": half[:9]}, r"^groups must be 1-D with one entry for each of the 40 samples"),
            (X, {"groups": np.arange(50)}, r"^groups must be 1-D with one entry for each of the 40 samples"),
            (X, {"groups": np.full(40, np.nan)}, "groups has no entry at position 0"),
            (X, {"batch": half[:9], "model": model}, r"^batch must be 1-D with one entry for each of the 40"),
            (X, {"feature_names": ["a"]}, "^feature_names must hold 60 names, got 1"),
            (X, {"sample_names": range(50)}, "^sample_names must hold 40 names, got 50"),
            (X[:, :3], {"model": model}, "X has 3 features, but MinimaxRiskClassifier is expecting 60"),
            (frame[frame.columns[::-1]], {"model": model}, r"X\[list\(model\.feature_names_in_\)\]"),
        ):
            with pytest.raises(ValueError, match=f"(?s){words}"):
                check_data(X_, y, **more)
        with pytest.raises(ValueError, match=r"^y must hold the classes of the model, \['"):
            check_data(X, half, model=model)

    def test_every_container_that_a_fit_reads(self, study):
        pd, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
        X, y = study
        twice, labels = np.vstack([X, X[:1]]), np.r_[y, y[:1]]
        frame = pd.DataFrame(twice, columns=[f"g{j}" for j in range(60)])
        model = MinimaxRiskClassifier().fit(frame, labels)
        (expected,) = check_data(twice, labels, model=model)
        for each in (
            *(frame, frame.astype("Float64"), frame.astype(object), pyarrow.Table.from_pandas(frame)),
            *(twice.tolist(), sparse.csr_array(twice), sparse.coo_matrix(twice), np.ma.masked_array(twice)),
        ):
            assert check_data(each, labels, model=model) == (expected,)
        gaps = frame.astype("Float64")
        gaps.iloc[3, 4] = pd.NA
        assert check_data(gaps, labels) == (expected,)
        names_ = {**dict(zip(frame, ["2-Sep", "1-Mar"], strict=False))}
        (*_, dates) = check_data(pyarrow.Table.from_pandas(frame.rename(columns=names_)), labels)
        assert "'2-Sep', '1-Mar'" in dates.text

    def test_batches_are_known_to_all_that_is_looked_for(self, study):
        """As to the command: matched samples of a batch are no replicates that need groups."""
        X, _ = study
        y, batch = np.arange(40) % 2, np.arange(40) // 4
        called = [f"P{i // 2:02d}_rep{i % 2}" for i in range(40)]
        model = MinimaxRiskClassifier().fit(X, y)
        without = check_data(X, y, model=model, sample_names=called)
        assert [doubt.kind for doubt in without if "sources" in doubt.text] == ["groups"]
        found = check_data(X, y, model=model, sample_names=called, batch=batch)
        assert not [doubt for doubt in found if "sources" in doubt.text]

    def test_a_doubt_is_printed_with_its_remedy(self, study):
        X, y = study
        (doubt,) = check_data(np.vstack([X, X[:1]]), np.r_[y, y[:1]])
        assert str(doubt) == f"{doubt.text} {doubt.remedy}"
        assert "'40' to '0'" in doubt.text
        assert kinds(X, y) == []


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_one_class_alone_has_no_contrasts():
    found = class_contrasts(np.arange(12.0).reshape(4, 3), np.zeros(4, dtype=int), 1)
    assert np.isnan(found.difference).all()
    assert np.isnan(found.p).all()
    assert found.class_means.tolist() == [[4.5, 5.5, 6.5]]
