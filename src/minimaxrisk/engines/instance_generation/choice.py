"""Which instances a sub-program has, and whether it pays to have one.

Every choice gives the same optimum in the end; the constants are about time alone.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.problem.problem import Problem

# Instances per component of Phi from which on a sub-program pays, and the fewest instances at all.
MANY_INSTANCES = 2.5
FEWEST_INSTANCES = 500
# The first instances: so many per component, but no more than this part of all.
FEWEST_FIRST, MOST_FIRST, FIRST_PART = 2.5, 10.0, 0.25
# Nearness to their dual constraint at which instances stay, and at which new ones come.
STAYS, COMES = 0.85, 0.9
# What may come at a time, and what the next sub-program has at least, per component.
MOST_NEW, FEWEST = 12.0, 1.5
# An instance that exceeds its dual constraint by no more than this is not violated.
ROUNDING = 1e-10


def pays(problem: Problem) -> bool:
    """Whether there are so many instances that most of them never matter.

    Where the masses of instances are known every instance has its mass, and none can be left out.
    """
    n = problem.n_instances
    return not problem.marginal.is_known and n >= max(FEWEST_INSTANCES, MANY_INSTANCES * problem.n_components)


def first_instances(problem: Problem) -> IntArray:
    """Some at random, ascending, and the same ones every time."""
    n, m = problem.n_instances, problem.n_components
    n_first = int(np.clip(FIRST_PART * n, FEWEST_FIRST * m, MOST_FIRST * m))
    return np.sort(np.random.default_rng(0).permutation(n)[: max(n_first, FEWEST_INSTANCES // 2)])


def next_instances(problem: Problem, chosen: IntArray, nearness: FloatArray) -> IntArray:
    """Those near to their constraints, of the instances at hand and of the others, ascending."""
    m = problem.n_components
    stay = chosen[nearness[chosen] >= STAYS]
    together = np.union1d(stay, _newcomers(problem, chosen, nearness))
    fewest = min(problem.n_instances, int(FEWEST * m))
    if len(together) < fewest:
        together = np.union1d(together, _nearest(nearness, np.arange(len(nearness)), fewest))
    return together


def with_newcomers(problem: Problem, chosen: IntArray, nearness: FloatArray) -> IntArray:
    """All instances at hand, and of the others those near to their constraints or beyond, ascending."""
    return np.union1d(chosen, _newcomers(problem, chosen, nearness))


def _newcomers(problem: Problem, chosen: IntArray, nearness: FloatArray) -> IntArray:
    is_new = nearness >= COMES
    is_new[chosen] = False
    return _nearest(nearness, np.flatnonzero(is_new), int(MOST_NEW * problem.n_components))


def _nearest(nearness: FloatArray, candidates: IntArray, most: int) -> IntArray:
    if len(candidates) <= most:
        return candidates
    return candidates[np.argpartition(-nearness[candidates], most - 1)[:most]]


def is_violated(chosen: IntArray, nearness: FloatArray) -> bool:
    """Whether an instance outside the sub-program exceeds its dual constraint."""
    outside = nearness > 1.0 + ROUNDING
    outside[chosen] = False
    return bool(outside.any())
