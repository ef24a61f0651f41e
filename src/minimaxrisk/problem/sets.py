"""The two kinds of uncertainty set, a box and a ball, behind one face.

A model names the kind of its set. Whoever poses its problem again asks the kind, and need not know which one
it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from minimaxrisk.problem.ball import PosedBall, pose_ball
from minimaxrisk.problem.pose import PosedBox, pose_by
from minimaxrisk.uncertainty.ball_radius import BallRadiusRule, ball_radius_rule_of
from minimaxrisk.uncertainty.radius import RadiusRule
from minimaxrisk.uncertainty.rules import radius_rule_of

Posed: TypeAlias = PosedBox | PosedBall


@dataclass(frozen=True)
class SetKind:
    """From the parameters of an estimator to its set.

    ``radius_rule(parameters, seed)`` is how the parameters set the radii, and
    ``pose(parameters, data, rule)`` is the problem of the data.
    """

    radius_rule: Callable[..., RadiusRule | BallRadiusRule]
    pose: Callable[..., Posed]


# An interval for the mean of each feature; one distance for the mean of all features together.
BOX = SetKind(radius_rule_of, pose_by)
BALL = SetKind(ball_radius_rule_of, pose_ball)
