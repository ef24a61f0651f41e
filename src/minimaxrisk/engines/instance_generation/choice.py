"""Which instances a sub-program has, and whether it pays to have one.

Every choice gives the same optimum in the end; the constants are about time alone.
"""

from __future__ import annotations

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.problem.problem import Problem

# Instances per component of Phi from which on it pays, and the fewest at all. Whole solutions took, against
# all instances at once: 2000 x 800 and 2000 x 20, two classes, as long; 2000 x 400 half as long, 1000 x 400 a
# seventh longer; with three classes 2000 x 130 (5 per component) six sevenths, 5000 x 20 two fifths.
MANY_INSTANCES = {"signed": 2.5, "one-hot": 5.0}
FEWEST_INSTANCES = 2000
# The first instances: a part of all, but within these numbers per component, and not fewer than that.
FIRST_PART, FEWEST_PER_COMPONENT, MOST_PER_COMPONENT, FEWEST_FIRST = 0.25, 2.5, 10.0, 250
# Nearness to their dual constraint at which instances stay, and at which new ones come. With 0.8 and 0.85 the
# last programs are nearly twice as large, and rounds are as many.
STAYS, COMES = 0.85, 0.9
# What may come at a time, and what the next sub-program has at least, per component. With 2.5 in place of 12,
# 20,000 x 200 takes a round more; with 3 in place of 1.5, 3000 x 300 a quarter longer.
MOST_NEW, FEWEST = 12.0, 1.5
# An instance that exceeds its dual constraint by no more than this is not violated.
ROUNDING = 1e-10


def pays(problem: Problem) -> bool:
    """Whether there are so many instances that leaving most of them out at first saves time.

    Where the masses of instances are known every instance has its mass, and none can be left out.
    """
    fewest = MANY_INSTANCES[problem.coding.name] * problem.n_components
    return not problem.marginal.is_known and problem.n_instances >= max(FEWEST_INSTANCES, fewest)


def first_instances(problem: Problem) -> IntArray:
    """Some at random, ascending, and the same ones every time.

    Not every tenth or so: instances are ordered by their values, which may have periods.
    """
    n, m = problem.n_instances, problem.n_components
    n_first = np.clip(FIRST_PART * n, FEWEST_PER_COMPONENT * m, MOST_PER_COMPONENT * m)
    return np.sort(np.random.default_rng(0).permutation(n)[: max(int(n_first), FEWEST_FIRST)])


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
