"""Which ways to a vertex are tried, in which order, and when."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minimaxrisk.engines.face import Face
from minimaxrisk.engines.interior_point.predictor_corrector import InteriorPoint
from minimaxrisk.engines.interior_point.vertices.blocks import vertex_by_blocks
from minimaxrisk.engines.interior_point.vertices.crossover import crossed_vertex
from minimaxrisk.engines.interior_point.vertices.doubtful import square_faces_near
from minimaxrisk.engines.interior_point.vertices.equations import Vertex
from minimaxrisk.engines.interior_point.vertices.push import pushed_vertex
from minimaxrisk.engines.interior_point.vertices.square import DependentColumnsError, square_vertex

# Iterations within the tolerance after which the optimum is taken for degenerate: a guess that is right but
# for a few pairs has been found out by then.
PUSH_AFTER = 3
# Gap below which the parametric simplex method takes less time than the iterations that it saves, and how
# much smaller the gap has to be for another try. At 1600 instances 14 pivots take it there from 1e-5, 39
# from 3e-5 and 112 from 1e-4.
CROSSOVER_GAP, CROSSOVER_AGAIN = 2e-5, 0.25
# Tries: where two fail, the optimum is degenerate and so would be the next.
MOST_CROSSINGS = 2


class VertexSearch:
    """Candidates for the optimal vertex, read off the iterates of one interior point."""

    def __init__(self, point: InteriorPoint) -> None:
        self._point = point
        self._seen: Face | None = None
        self._tried: Face | None = None
        self._n_near = 0
        self._crossed_at, self._n_crossings = np.inf, 0
        self._is_degenerate = False

    def candidates(self, gap: float, *, is_near: bool) -> Iterator[tuple[str, Vertex]]:
        """What may be the vertex, with the name of the way that led there, the cheapest one first.

        ``is_near`` says that the tolerance is met, so that the vertex is all that is missing.
        """
        self._n_near += is_near
        # An iteration within the tolerance then takes less time than an attempt that may fail.
        if self._point.problem.iterations_are_cheap and self._n_near < 2:
            return
        face = self._point.face()
        seen, self._seen = face.is_same_as(self._seen), face
        # Not worth its time while the guess still changes and cannot be right.
        if not face.is_same_as(self._tried) and (seen or is_near or face.is_square):
            self._tried = face
            yield from self._near_face(face, pushes=seen or self._n_near >= PUSH_AFTER or self._is_degenerate)
        if self._crosses(gap, is_near=is_near):
            self._crossed_at, self._n_crossings = gap, self._n_crossings + 1
            try:
                vertex = crossed_vertex(self._point)
            except DependentColumnsError:
                self._is_degenerate, vertex = True, None
            if vertex is not None:
                yield "parametric simplex", vertex

    def pushed(self) -> Iterator[tuple[str, Vertex]]:
        """A vertex of the face as it is, which the coefficients at hand lead to."""
        vertex = pushed_vertex(self._point, self._point.face())
        if vertex is not None:
            yield "push", vertex

    def _crosses(self, gap: float, *, is_near: bool) -> bool:
        problem = self._point.problem
        # Pivots need dense rows. Beside iterations with sparse ones they are dear, and the nearer the fewer.
        if problem.features.is_sparse and not is_near:
            return False
        return (
            problem.coding.name == "signed"
            and not problem.marginal.is_known
            and self._n_crossings < MOST_CROSSINGS
            and not self._is_degenerate
            and gap <= min(CROSSOVER_GAP, CROSSOVER_AGAIN * self._crossed_at)
        )

    def _near_face(self, face: Face, *, pushes: bool) -> Iterator[tuple[str, Vertex]]:
        if face.is_square:
            vertices = list(self._of_square(face))
            yield from vertices
            if vertices:
                return  # the face has no other vertex
        for near in square_faces_near(self._point, face):
            for way, vertex in self._of_square(near):
                yield f"{way} after doubt", vertex
        if pushes:
            yield from self.pushed()

    def _of_square(self, face: Face) -> Iterator[tuple[str, Vertex]]:
        problem, working = self._point.problem, self._point.working
        if problem.coding.name == "one-hot" and not problem.marginal.is_known:
            way, vertex = "blocks", vertex_by_blocks(problem, working, face)
        else:
            way, vertex = "square", square_vertex(problem, working, face)
        if vertex is not None:
            yield way, vertex
