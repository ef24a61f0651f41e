"""Classifiers fitted on parts of the samples, weighed by the samples that they have not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from minimaxrisk._utils import choices
from minimaxrisk._utils.arguments import listed, parameters_by_keyword
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk._utils.interrupts import let_through
from minimaxrisk._utils.notices import warn
from minimaxrisk._utils.parallel import parallel_map_in_batches, progress_bar
from minimaxrisk._utils.sklearn_private import Interval, fit_context
from minimaxrisk.engines.dispatch import (
    approach_minimax_risks,
    ended_early,
    problems_at_a_time,
    solve_minimax_risk,
)
from minimaxrisk.engines.solution import EngineSettings, Monitor, StoppingRule
from minimaxrisk.estimators.ball_member import BallFitter, is_curved, is_quick
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.fit_support import engine_settings_of, radius_seed_of, warn_about_work
from minimaxrisk.estimators.out_of_bag import OutOfBag, ball_weight, out_of_bag, out_of_bag_scores
from minimaxrisk.estimators.skeleton import CertifiedClassifier
from minimaxrisk.exceptions import OutOfBagWarning
from minimaxrisk.guarantees.calibrated_decision import CalibratedDecision, CalibratedRule
from minimaxrisk.guarantees.certified import (
    BOX_OF_MEANS,
    CALIBRATED,
    DASK,
    ELSEWHERE,
    LIBRARY_CLASSIFIER,
    MEMBERS,
    PROOF,
    SELECTION,
    STABILITY,
    Claim,
)
from minimaxrisk.guarantees.claims import claims_of_average, moments_in_units_of
from minimaxrisk.guarantees.fitted_problem import data_for_fit, loss_of_rule
from minimaxrisk.guarantees.worst_case import WorstCaseOfRule, worst_case_of_loss
from minimaxrisk.problem.pose import PosedBox, pose_by, pose_parts
from minimaxrisk.problem.problem import Box
from minimaxrisk.problem.rule import AverageRule, FourierRule, LinearRule, MeanOfScores
from minimaxrisk.problem.sets import BOX, Posed
from minimaxrisk.samples.independent_units import Strata, independent_parts
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.radius import RadiusRule
from minimaxrisk.uncertainty.rules import Multiple, radius_rule_of

# A member that stops short of a vertex has small coefficients where the vertex has none. Those below this
# fraction of the largest one of their class, for columns at unit variance, are taken for zero.
SMALL_COEFFICIENT = 0.1


@parameters_by_keyword
class MinimaxRiskEnsembleClassifier(CertifiedClassifier):
    r"""Many minimax risk classifiers fitted on parts of the samples: the one that errs least.

    Samples that a member has not seen weigh and calibrate its scores, so that ``predict_proba`` estimates how
    probable each class is, and they estimate the error. ::

        model = MinimaxRiskEnsembleClassifier(random_state=0).fit(X, y)
        model.predict(X_new), model.predict_proba(X_new), model.oob_error_

    Parameters
    ----------
    estimator : MinimaxRiskClassifier or None, default=None
        What the members are; it is cloned, and all its parameters count but ``deterministic``, ``gap_tol``,
        ``verbose`` and ``callback``. ``None`` is ``MinimaxRiskClassifier()``.
    n_estimators : int, default=50
        Number of members.
    subsample : float, default=0.8
        The share of the samples of each class that a member sees, rounded down, but at least one.
    ball : bool or "auto", default="auto"
        Whether rules that use all columns take part: a linear ball, and with no more columns than samples a
        ball with the RBF kernel. ``"auto"``: where they take no longer than the other members, with up to
        2500 distinct samples and two classes, or 2500 / n_classes. Without them only the columns of
        ``selected_features_`` are used.
    radius : float, "bootstrap", array-like or None, default=None
        The radius of the set over which the mean rule is certified, as for ``MinimaxRiskClassifier``; None is
        that of ``estimator``. Members that predict well often have a radius far below one that covers.
    certify : bool, default=False
        Whether to compute the worst case of the mean rule, in which a member drawn at random decides. It is
        not the calibrated decision of ``predict``. Without it there are no bounds and nothing to verify.
    gap_tol : float, default=1e-3
        The certified gap at which the members' solver stops, in place of the estimator's own. With two
        classes a hundredth does as well and saves time; with many classes of different sizes it does not.
    n_jobs : int or None, default=None
        Processes among which the fits are shared, as in joblib: None is 1 unless a context says otherwise,
        -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the parts; an int gives the same ones every time.
    verbose : int, default=0
        If positive, a progress bar on standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    members_ : list of LinearRule
        The rules of the members: the columns that each uses, their coefficients, intercepts and threshold.
    in_bag_ : ndarray of bool of shape (n_estimators, n_samples)
        Which samples each member has seen.
    ball_ : LinearRule or None
        The rule of the linear ball, fitted on all samples.
    ball_weight_ : float
        The share of the linear ball in the mean rule, that of the members being the rest. With a and b errors
        of members and ball on samples that they have not seen it is (a + 1)² / ((a + 1)² + (b + 1)²).
    rbf_ball_ : FourierRule or None
        The rule of the ball with the RBF kernel, by random Fourier features, so that no sample is stored.
    decision_ : CalibratedDecision
        The calibrated decision: ``slopes`` are the weights of the scores of members, linear ball and RBF
        ball, and ``offsets`` what is added for each class.
    estimator_ : MinimaxRiskClassifier
        Not fitted: its parameters say what the certified set is.
    oob_proba_ : ndarray of shape (n_samples, n_classes)
        For each sample the calibrated probabilities by members and balls that have not seen it, with a
        decision that is fitted to other folds; NaN, and a warning, if every member has, as of the single
        sample of a class. NaN also for samples of weight 0.
    oob_error_ : float
        The share, by weight (class weights included), of samples that the largest of ``oob_proba_``
        misclassifies; those with NaN do not count. It is about an ensemble with fewer members.
    oob_error_interval_ : tuple of float
        An approximate 95% interval of the error: Clopper and Pearson's with a wider correction than Nadeau
        and Bengio's, since errors of members that share samples are not independent. ``error_bound`` has one
        that is exact.
    selected_features_, n_features_selected_ : ndarray of int, int
        Columns that at least one member uses, and their number. The ball, which uses all, does not count
        here, nor for importances and frequencies.
    feature_importances_ : ndarray of shape (n_features,)
        The mean over members of the absolute coefficients, summed over classes, times the column's standard
        deviation (its root mean square with ``standardize=False``).
    selection_frequencies_ : ndarray of shape (n_features,)
        The share of members that use each column. Coefficients below a tenth of the member's largest for the
        class, at unit variance, are set to zero.
    worst_case_error_ : float
        A certified upper bound on the error of the mean rule over the uncertainty set of all samples. This
        and all that follows up to ``coding_`` is there with ``certify=True``.
    worst_case_error_lower_ : float
        A certified lower bound on the same: the error on a distribution of the set. It is about this rule
        alone; that of ``MinimaxRiskClassifier`` is about all rules.
    optimality_gap_ : float
        The difference of the two: rounding up to 500 masses, which are samples times classes, and up to 1e-6
        beyond.
    worst_case_distribution_ : ndarray of shape (n_samples, n_classes)
        The distribution that proves ``worst_case_error_lower_``.
    worst_case_proof_ : LinearRule
        The affine function above the loss that proves ``worst_case_error_``; it uses about as many columns as
        there are samples, for each class.
    tau_, lambda_ : ndarray of shape (1 or n_classes, n_features [+ 1])
        Estimated means and radii of the features, which are the set, as for ``MinimaxRiskClassifier``.
    radius_, radius_seed_, coverage_, coverage_remarks_, coding_ : float, int, tuple, str or None
        How the radii of the set came about and what they cover, and the coding, as for
        ``MinimaxRiskClassifier``.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    See Also
    --------
    MinimaxRiskClassifier : What the members are.
    MinimaxRiskKernelClassifier : What the ball is.
    worst_case : The worst case of the mean rule.
    error_bound : A bound on the error that holds with a probability.

    Notes
    -----
    Each member is a classifier fitted on a random part of the samples, with the same share of every class,
    and selects columns. Two more rules may use all columns: those of ``MinimaxRiskKernelClassifier`` with a
    linear and an RBF kernel, the *balls*. With the mean scores of the members and those of the balls,
    :math:`s_m`, ``predict_proba`` is proportional to :math:`\exp(\sum_m a_m s_m + b)`: weights
    :math:`a_m \ge 0` and an offset of each class are fitted to out-of-bag scores, and those of the balls from
    folds. ``decision_function`` is the exponent, and ``predict`` names the largest probability.

    The mean rule is a weighted mean of the randomized rules of members and linear ball. ``certify=True``
    computes its worst case over the uncertainty set of *all* samples, by a linear program; ``verify`` and
    ``worst_case`` are about this rule, too.

    With fewer members it errs a little more often, in a share of the time.

    Members stop within ``gap_tol`` of their optimum, those of sparse and dense X at other places:
    probabilities of the two differ by about 0.01, and with ``gap_tol=1e-9`` by less than 1e-5.

    A sample of weight 2 goes to a part with all of its weight; the radii of a plain number take it for two
    samples, unless ``groups`` says that it is one. Rows that are repeated instead stay together if ``groups``
    says so.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskEnsembleClassifier
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(60, 200, effect=0.8, random_state=0)
    >>> model = MinimaxRiskEnsembleClassifier(random_state=0).fit(study.data, study.target)
    >>> round(model.oob_error_, 2)
    0.05
    """

    estimator_: MinimaxRiskClassifier
    members_: Sequence[LinearRule]
    oob_proba_: FloatArray
    oob_error_: float
    oob_error_interval_: tuple[float, float]
    ball_weight_: float
    selection_frequencies_: FloatArray
    decision_: CalibratedDecision

    _set_kind = BOX
    _whose = " of estimator"
    _capabilities = frozenset(
        {
            *(LIBRARY_CLASSIFIER, PROOF, BOX_OF_MEANS, SELECTION, STABILITY, MEMBERS, CALIBRATED),
            *(DASK, ELSEWHERE),
        }
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [MinimaxRiskClassifier, None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "subsample": [Interval(Real, 0, 1, closed="neither")],
        "ball": ["boolean", choices.one_of(choices.Auto)],
        "radius": [
            Interval(Real, 0, None, closed="neither"),
            choices.one_of(choices.RadiusOfBox),
            "array-like",
            None,
        ],
        "certify": ["boolean"],
        "gap_tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: MinimaxRiskClassifier | None = None,
        *,
        n_estimators: int = 50,
        subsample: float = 0.8,
        ball: bool | choices.Auto = "auto",
        radius: choices.Radius | None = None,
        certify: bool = False,
        gap_tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.ball = ball
        self.radius = radius
        self.certify = certify
        self.gap_tol = gap_tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the members, and calibrate the decision.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Training instances.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights. A sample goes to a part with all of its weight; one of weight 0 is no sample.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group, such as the replicates of a patient, go to a part together, so that the
            members that judge a sample have not seen its group. Parts then hold shares of the groups, and
            radii count groups, as for ``MinimaxRiskClassifier``.

        Returns
        -------
        self
            The fitted ensemble.
        """
        return self._learn(X, y, sample_weight=sample_weight, groups=groups)

    def _parameters_of_fit(self) -> MinimaxRiskClassifier:
        estimator = self._member()
        return estimator if self.radius is None else estimator.set_params(radius=self.radius)

    def _member(self) -> MinimaxRiskClassifier:
        """What the members are, not fitted."""
        estimator = clone(MinimaxRiskClassifier() if self.estimator is None else self.estimator)
        estimator._validate_params()
        return estimator.set_params(callback=None)  # not called, and need not go to other processes

    def _remedies(self, data: TrainingData, parameters: Any) -> list[str]:
        return super()._remedies(data, self._member())  # its own radius is that of the certificate

    def _check(self, data: TrainingData, checked: Any, parameters: Any) -> None:
        warn_about_work(data, parameters.coding, parameters.copy)

    def _posed(self, data: TrainingData, parameters: Any) -> Posed:
        # Without a certificate the radii are not used, and need not be bootstrapped.
        return super()._posed(data, parameters) if self.certify else pose_by(parameters, data, Multiple(1.0))

    @let_through()
    def _solved(self, posed: PosedBox, data: TrainingData, parameters: Any, monitor: Monitor) -> _Average:
        units, random = Strata.of(data), check_random_state(self.random_state)
        parts = independent_parts(units, self.n_estimators, self.subsample, random)
        estimator = self._member()
        settings = engine_settings_of(estimator, data.X.shape[1])
        learn = RulesFromRows(
            posed,
            data,
            estimator,
            radius_rule_of(estimator, radius_seed_of(estimator)),
            replace(settings, gap_tol=self.gap_tol, first_order_gap_tol=self.gap_tol, is_gap_given=True),
        )
        with progress_bar(len(parts), "members", verbose=self.verbose) as progress:
            learned = parallel_map_in_batches(
                learn, parts, size=learn.batch_size, n_jobs=self.n_jobs, progress=progress
            )
        members = [member for member, _ in learned]
        linear, curved = self._balls(posed, data, units, random, standardize=estimator.standardize)
        in_bag = np.zeros((len(parts), len(data.labels)), dtype=np.bool_)
        for seen, rows in zip(in_bag, parts, strict=True):
            seen[rows] = True
        scores = [out_of_bag_scores(members, data, in_bag)]
        scores += [left_out for _, left_out in (*linear, *curved)]
        judged = out_of_bag(np.stack(scores), data, in_bag, units.unit_of_row)
        mean = AverageRule(members)
        for rule, left_out in linear:
            mean = AverageRule(members, rule, ball_weight(scores[0], left_out, data))
        worst = None
        if self.certify:
            worst = worst_case_of_loss(loss_of_rule(mean, "randomized", data, posed), mean, posed)
        remark = _remark_on_members([gap for _, gap in learned])
        return _Average(mean, in_bag, curved[0][0] if curved else None, judged, worst, remark)

    def _store(self, posed: PosedBox, data: TrainingData, solved: _Average, parameters: Any) -> None:
        fitted = solved.rule
        self.estimator_, self.coding_ = parameters, posed.problem.coding.name
        self.members_, self.in_bag_ = fitted.members, solved.in_bag
        self.ball_, self.ball_weight_, self.rbf_ball_ = fitted.ball, fitted.ball_weight, solved.rbf_ball
        self.selected_features_ = fitted.selected
        self.n_features_selected_ = len(self.selected_features_)
        self.feature_importances_ = fitted.importances(posed.problem.scale)
        self.selection_frequencies_ = fitted.selection_frequencies(self.n_features_in_)
        for name, value in vars(solved.judged).items():
            setattr(self, f"{name}_", value)
        if solved.worst is not None:
            self._store_set(posed, parameters)
            self._store_bounds(posed, solved.worst)
            self.tau_, self.lambda_ = moments_in_units_of(parameters, posed.problem)
            self.worst_case_proof_ = solved.worst.affine

    def _warn(self, posed: PosedBox, data: TrainingData, solved: _Average) -> None:
        super()._warn(posed, data, solved)
        is_unseen = np.isnan(solved.judged.oob_proba[:, 0]) & (data.weights > 0)
        units = Strata.of(data)
        single = [k for k, members in enumerate(units.of_class) if len(members) == 1]
        if single:
            is_unseen[np.isin(data.labels, single)] = False
            warn(
                f"{listed(data.classes[single])}: every member sees the single "
                f"{'sample' if data.groups is None else 'group'} of such a class: oob_error_ is about "
                "samples of the other classes alone; add samples.",
                OutOfBagWarning,
            )
        unseen = int(is_unseen.sum())
        if unseen:
            were, they_are = ("sample was", "it is") if unseen == 1 else ("samples were", "they are")
            warn(
                f"{unseen} {were} seen by all members, and {they_are} not in oob_error_; take more "
                "members (n_estimators) or smaller parts (subsample).",
                OutOfBagWarning,
            )

    def _parameters_of_set(self) -> MinimaxRiskClassifier:
        return self.estimator_

    @property
    def _has_proof(self) -> bool:
        return "worst_case_proof_" in vars(self)

    def _fitted_rule(self) -> AverageRule:
        return AverageRule(self.members_, self.ball_, self.ball_weight_)

    def _deciding_rule(self) -> CalibratedRule:
        balls = [ball for ball in (self.ball_, self.rbf_ball_) if ball is not None]
        return CalibratedRule([MeanOfScores(self.members_), *balls], self.decision_)

    def _was_fitted_on(self, X: Any, y: Any) -> bool:
        """Return whether the importances and the out-of-bag errors are those of these samples.

        False for groups of different sizes, whose parts have unequal shares of the classes.
        """
        is_alike = self.in_bag_.shape[1] == len(y) and np.array_equal(np.unique(y), self.classes_)
        is_elsewhere = hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray)
        if is_elsewhere or not (is_alike and self.n_features_selected_):
            return False
        data = data_for_fit(self, self.estimator_, X, y, reset=False)
        posed = pose_by(self.estimator_, data, Multiple(1.0))
        again = self._fitted_rule().importances(posed.problem.scale)
        seen = self.in_bag_.astype(np.intp) @ np.eye(len(self.classes_), dtype=np.intp)[data.labels]
        weights = np.where(np.isnan(self.oob_proba_[:, 0]), 0.0, data.weights)
        wrong = float(weights @ (np.argmax(self.oob_proba_, axis=1) != data.labels))
        if not ((seen == seen[0]).all() and np.isclose(wrong, self.oob_error_ * weights.sum())):
            return False
        return bool(np.allclose(again, self.feature_importances_, rtol=1e-9, atol=0.0))

    def _claims(self, posed: Any, data: TrainingData) -> Iterator[Claim]:
        return claims_of_average(self, posed, data)

    def _balls(
        self,
        posed: PosedBox,
        data: TrainingData,
        units: Strata,
        random: np.random.RandomState,
        *,
        standardize: bool,
    ) -> tuple[list[tuple[LinearRule, FloatArray]], list[tuple[FourierRule, FloatArray]]]:
        """The linear ball and the one with the RBF kernel, if they take part."""
        if self.ball is False or (self.ball == "auto" and not is_quick(posed)):
            return [], []
        fitter = BallFitter(posed, data, units, standardize, self.subsample, self.gap_tol)
        return [fitter.linear(random)], [fitter.curved(random)] if is_curved(posed) else []


@dataclass(frozen=True)
class _Average:
    """The mean rule, its worst case, and the decision by samples that members have not seen."""

    rule: AverageRule
    in_bag: BoolArray
    rbf_ball: FourierRule | None
    judged: OutOfBag
    worst: WorstCaseOfRule | None
    remark: str
    interrupted: ClassVar[bool] = False  # members raise


@dataclass(frozen=True)
class RulesFromRows:
    """What a classifier learns from parts of the rows; an object, so that it can go to other processes."""

    whole: PosedBox
    data: TrainingData
    estimator: MinimaxRiskClassifier  # not fitted: the parameters
    radius_rule: RadiusRule
    settings: EngineSettings

    @property
    def batch_size(self) -> int:
        """How many parts are best given together."""
        return problems_at_a_time(self.whole.problem, self.settings)

    def __call__(self, parts: Sequence[IntArray]) -> list[tuple[LinearRule, float]]:
        """Each with the gap at which a limit of the solver ended it, or zero."""
        with suitable_threads(len(self.data.labels)):
            posed = pose_parts(self.whole, self.estimator, self.data, parts, self.radius_rule)
            problems = [each.problem for each in posed]
            return [
                (LinearRule.of_problem(_without_small(mu, problem.scale.n_leading), problem), gap)
                for problem, (mu, gap) in zip(problems, self._coefficients(problems), strict=True)
            ]

    def _coefficients(self, problems: Sequence[Box]) -> list[tuple[FloatArray, float]]:
        settings = self.settings
        if settings.max_iter is None and settings.max_seconds is None:
            found = approach_minimax_risks(problems, settings)
            pairs = zip(found, problems, strict=True)
            return [(each.stage.expand(*problem.shape), 0.0) for each, problem in pairs]
        # The quicker way above does not tell where a limit ended it.
        near_enough = StoppingRule(settings.gap_tol).stops
        solved = [solve_minimax_risk(problem, settings, near_enough) for problem in problems]
        if any(each.interrupted for each in solved):
            raise KeyboardInterrupt
        return [(each.mu, each.gap if ended_early(each) else 0.0) for each in solved]


def _remark_on_members(gaps: Sequence[float]) -> str:
    """That a limit of the solver ended members; empty if none did."""
    n_ended = sum(gap > 0.0 for gap in gaps)
    if not n_ended:
        return ""
    return (
        f"{n_ended} of {len(gaps)} members ended at a limit of estimator's solver, with optimality gaps of "
        f"up to {max(gaps):.2g}; what is stated of their average is valid, and a larger limit gives better "
        "members"
    )


def _without_small(mu: FloatArray, n_leading: int) -> FloatArray:
    """Coefficients of columns that are small beside the largest of their row become zero; intercepts stay."""
    size = np.abs(mu)
    size[:, :n_leading] = 0.0
    is_small = size < SMALL_COEFFICIENT * size.max(axis=1, keepdims=True)
    is_small[:, :n_leading] = False
    return np.where(is_small, 0.0, mu)
