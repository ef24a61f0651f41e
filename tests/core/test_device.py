"""Arrays of other libraries: the same answers as NumPy, in the namespace and on the device of X."""

import pickle

import numpy as np
import pytest
import sklearn

from minimaxrisk import (
    ClippedScaler,
    MinimaxRiskClassifier,
    MinimaxRiskEnsembleClassifier,
    MinimaxRiskKernelClassifier,
    permutation_test,
    verify,
)
from minimaxrisk._utils.arrays import to_numpy
from minimaxrisk.datasets import make_expression
from minimaxrisk.engines.moment_space import is_for_moment_space
from minimaxrisk.matrices import device
from minimaxrisk.matrices.device import DeviceMatrix
from minimaxrisk.problem.pose import pose
from minimaxrisk.samples.instances import distinct_instances
from minimaxrisk.samples.validation import check_training_data
from minimaxrisk.uncertainty.rules import Multiple
from problems import features_in

pytest.importorskip("array_api_compat")
pytest.importorskip("scipy", minversion="1.14.0")  # as scikit-learn asks for


def strict(values):
    return pytest.importorskip("array_api_strict").asarray(values)


def torch_cpu(values):
    return pytest.importorskip("torch").asarray(values)


def torch_cuda(values):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch.asarray(values, device="cuda")


def cupy(values):
    return pytest.importorskip("cupy").asarray(values)


ELSEWHERE = [strict, torch_cpu, torch_cuda, cupy]


@pytest.fixture(autouse=True)
def dispatch(monkeypatch):
    """scikit-learn asks for SciPy's own switch."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture(scope="module")
def study():
    made = make_expression(40, 500, n_informative=15, effect=1.0, random_state=0)
    return made.data, made.target


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_what_varies_and_what_does_not_is_what_numpy_says(elsewhere):
    """Means of up to 1e14 deviations, and constants, of which centring once leaves something."""
    rng = np.random.default_rng(0)
    n, sizes = 500, 10.0 ** rng.integers(-5, 15, 40)
    X = np.concatenate(
        [rng.standard_normal((n, 40)) + 10.0 ** np.repeat([0, 9, 12, 14], 10), np.empty((n, 40))], axis=1
    )
    X[:, 40:] = rng.standard_normal(40) * sizes
    instances = distinct_instances(check_training_data(MinimaxRiskClassifier(), X, np.arange(n) % 2))
    options = {"standardize": True, "fit_intercept": True}
    copied, _, scale = features_in(X, instances, **options)
    there, _, their_scale = features_in(elsewhere(X), instances, **options)
    assert np.allclose(their_scale.scale, scale.scale, rtol=1e-3)
    found, expected = (each.columns(np.arange(1, 81)) for each in (there, copied))
    assert not found[:, 40:].any()
    # The mean may be wrong by its last place, and an intercept makes up for that.
    assert np.allclose(found - found.mean(axis=0), expected, atol=1e-3)


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_certificates_are_those_of_numpy(elsewhere, study):
    X, y = study
    options = {"coding": "auto", "rule": Multiple(1.0), "standardize": True, "fit_intercept": True}
    here, there = (
        pose(check_training_data(MinimaxRiskClassifier(), values, y), **options).problem
        for values in (X, elsewhere(X))
    )
    assert isinstance(there.features.matrix, DeviceMatrix)
    assert type(there.tau_on_device) is type(there.lam_on_device) is type(elsewhere(X))
    assert np.allclose(there.tau, here.tau, atol=1e-13)
    assert np.allclose(there.lam, here.lam, atol=1e-13)
    assert there.smallest_radius == pytest.approx(here.smallest_radius)
    rng = np.random.default_rng(1)
    w = rng.dirichlet(np.ones(here.centre.size)).reshape(here.centre.shape)
    assert there.share_inside(w) == pytest.approx(here.share_inside(w), abs=1e-12)
    assert there.share_inside(w, 0.0) == pytest.approx(here.share_inside(w, 0.0), abs=1e-12)
    assert there.share_inside(w, here.moments_of(w)) == pytest.approx(here.share_inside(w), abs=1e-12)
    components, values = np.array([0, 3, 77]), rng.normal(size=3)
    mu = np.zeros(here.shape)
    mu[0, components] = values
    assert there.penalty_of(mu) == pytest.approx(here.penalty_of(mu), abs=1e-12)
    for problem in (here, there):
        penalty, scores = problem.penalty_and_scores(components, values)
        assert penalty == pytest.approx(here.penalty_of(mu), abs=1e-12)
        assert np.allclose(scores, here.scores_of(mu), atol=1e-12)


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fit_and_predict(elsewhere, dtype, study):
    X, y = study
    expected = MinimaxRiskClassifier().fit(X.astype(dtype), y)
    Z = elsewhere(X.astype(dtype))
    model = MinimaxRiskClassifier().fit(Z, y)
    assert model.worst_case_error_ == pytest.approx(expected.worst_case_error_, abs=1e-7)
    assert model.optimality_gap_ <= 1e-6
    assert np.array_equal(model.selected_features_, expected.selected_features_)
    for attribute in vars(model).values():
        assert not isinstance(attribute, type(Z))
    for method in ("predict", "predict_proba", "decision_function"):
        found = getattr(model, method)(Z)
        assert isinstance(found, type(Z))
        assert found.device == Z.device
        assert np.allclose(to_numpy(found), getattr(expected, method)(X.astype(dtype)), atol=1e-5)
    assert verify(model, Z, y).valid
    assert verify(model, X.astype(dtype), y).valid
    assert pickle.loads(pickle.dumps(model)).worst_case_error_ == model.worst_case_error_


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("elsewhere", [strict, torch_cpu, torch_cuda])
def test_many_instances_several_classes_weights_groups_known_masses(elsewhere):
    """Blocks of classes, units of their own, instances without labels."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(70, 80)), np.arange(70) % 2
    X[y == 1, :5] += 0.5
    X, more = X[:60], X[60:]
    three, pairs = np.arange(60) % 3, np.arange(60) % 2 + 2 * (np.arange(60) // 6)
    cases = [
        (y[:60], {}, {}),
        (three, {}, {"sample_weight": rng.integers(1, 4, 60)}),
        (y[:60], {}, {"groups": pairs}),
        (y[:60], {"class_weight": {0: 1.0, 1: 2.0}}, {"X_unlabeled": more}),
        (y[:60], {"solver": "first-order"}, {}),
        (y[:60], {"solver": "constraint-generation", "radius": "bootstrap"}, {}),
    ]
    for labels, parameters, arguments in cases:
        here, there = (
            MinimaxRiskClassifier(**parameters).fit(Z, labels, **arguments) for Z in (X, elsewhere(X))
        )
        gap = max(1e-7, here.optimality_gap_ + there.optimality_gap_)
        assert there.worst_case_error_ == pytest.approx(here.worst_case_error_, abs=gap), parameters


@pytest.mark.parametrize("elsewhere", [strict, torch_cpu, torch_cuda, cupy])
def test_many_classes_on_the_device(elsewhere):
    rng = np.random.default_rng(5)
    y = np.arange(500) % 8
    X = rng.normal(size=(500, 40)) + 0.8 * (y[:, None] == np.arange(40))
    here, there = (MinimaxRiskClassifier(radius=0.5).fit(Z, y) for Z in (X, elsewhere(X)))
    assert there.worst_case_error_ == pytest.approx(here.worst_case_error_, abs=1e-8)
    options = {"coding": "auto", "rule": Multiple(0.5), "standardize": True, "fit_intercept": True}
    problem = pose(check_training_data(MinimaxRiskClassifier(), elsewhere(X), y), **options).problem
    assert is_for_moment_space(problem)


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_ensembles_and_bootstrapped_radii(elsewhere, study):
    X, y = study
    Z = elsewhere(X)
    options = {"subsample": 0.5, "n_estimators": 16, "gap_tol": 1e-4, "random_state": 0, "certify": True}
    here, there = (MinimaxRiskEnsembleClassifier(**options).fit(values, y) for values in (X, Z))
    assert there.worst_case_error_ == pytest.approx(here.worst_case_error_, abs=1e-7)
    assert isinstance(there.predict(Z), type(Z))
    assert np.allclose(to_numpy(there.predict_proba(Z)), here.predict_proba(X), atol=1e-7)
    assert verify(there, Z, y).valid
    here, there = (
        MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=200).fit(values, y) for values in (X, Z)
    )
    assert there.radius_ == pytest.approx(here.radius_, rel=1e-9)
    assert there.coverage_remarks_ == here.coverage_remarks_


@pytest.mark.parametrize("elsewhere", [strict, torch_cpu])
def test_labels_on_the_device_and_labels_that_cannot_be(elsewhere, study):
    X, y = study
    Z = elsewhere(X)
    of_numbers = MinimaxRiskClassifier().fit(Z, elsewhere(y))
    assert isinstance(of_numbers.classes_, np.ndarray)
    assert np.array_equal(to_numpy(of_numbers.predict(Z)), MinimaxRiskClassifier().fit(X, y).predict(X))
    names = np.array(["healthy", "ill"])[y]
    said = MinimaxRiskClassifier().fit(Z, names).predict(Z)
    assert isinstance(said, np.ndarray)
    assert set(said) <= {"healthy", "ill"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy below array_api_strict
@pytest.mark.parametrize("elsewhere", [strict, torch_cpu])
def test_bad_numbers(elsewhere, study):
    X, y = study
    for bad in (np.nan, np.inf):
        wrong = X.copy()
        wrong[3, 7] = bad
        with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
            MinimaxRiskClassifier().fit(elsewhere(wrong), y)
    expected = MinimaxRiskClassifier().fit(X, y).worst_case_error_
    for size in (1e200, 1e-200):
        odd = X.copy()
        odd[:, 7] *= size
        model = MinimaxRiskClassifier().fit(elsewhere(odd), y)
        assert model.worst_case_error_ == pytest.approx(expected, abs=1e-9)


def test_blocks_that_come_from_the_host(study, monkeypatch):
    """As for data larger than the device, here with a device that is the host itself."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(device, "BLOCK_BYTES", 40 * 8 * 170)
    monkeypatch.setattr(device, "BLOCK_ELEMENTS", 40 * 120)
    elsewhere = "cuda" if torch.cuda.is_available() else "cpu"
    ways = []

    def stream(X):
        ways.append(device.StreamedArray(X, torch.device(elsewhere)))
        return ways[-1]

    monkeypatch.setattr(device, "streamed_if_asked", stream)
    X, y = study
    expected = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=100).fit(X, y)
    for host in (torch.asarray(X), torch.asarray(np.ascontiguousarray(X.T)).T):
        model = MinimaxRiskClassifier(radius="bootstrap", n_bootstrap=100).fit(host, y)
        assert model.worst_case_error_ == pytest.approx(expected.worst_case_error_, abs=1e-7)
        assert verify(model, host, y).valid
        test = permutation_test(MinimaxRiskClassifier(), host, y, 3, random_state=0)
        assert test.pvalue == permutation_test(MinimaxRiskClassifier(), X, y, 3, random_state=0).pvalue
    assert len(list(ways[0].blocks())) == 3


def test_only_tensors_that_are_meant_for_a_device_are_streamed(study):
    torch = pytest.importorskip("torch")
    X = torch.asarray(study[0])
    assert device.streamed_if_asked(X) is X
    assert device.streamed_if_asked(study[0]) is study[0]
    if torch.cuda.is_available():
        assert device.streamed_if_asked(X.pin_memory()).device.type == "cuda"
        assert device.streamed_if_asked(X.cuda()).device.type == "cuda"


@pytest.mark.parametrize("what", [ClippedScaler(), MinimaxRiskKernelClassifier()])
def test_what_works_on_numpy_arrays_alone_says_so(what, study):
    X, y = study
    with pytest.raises(
        TypeError, match=rf"{type(what).__name__} works on .* of another library; convert X|works on NumPy"
    ):
        what.fit(strict(X), y)


def test_without_the_switch_arrays_become_numpys(study):
    X, y = study
    with sklearn.config_context(array_api_dispatch=False):
        model = MinimaxRiskClassifier().fit(torch_cpu(X), y)
        assert isinstance(model.predict(torch_cpu(X)), np.ndarray)
        away = type("Away", (), {"ndim": 2, "device": "cuda:0", "__dlpack_device__": lambda self: (2, 0)})()
        with pytest.raises(ValueError, match=r"array_api_dispatch=True.*pass it as a NumPy array"):
            model.predict(away)
