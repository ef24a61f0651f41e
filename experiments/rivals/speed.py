"""The benchmark: every rival on every problem, each pair in a process of its own."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from experiments.harness.cells import FAILED, REFUSED, TIME_LIMIT, Cell, EndedError
from experiments.harness.child import Story, run_module
from experiments.harness.reporting import Item
from experiments.harness.settings import Settings
from experiments.harness.sources import Sources
from experiments.rivals.adapters import RIVALS
from experiments.rivals.comparison import report
from experiments.rivals.environment import describe_environment
from experiments.rivals.problems import DATASET, SIZE_MAP, make_problem, problems
from experiments.rivals.transfer import save_problem, size_in_memory

NAME = "speed"
EFFORT = ("fit_repetitions", "fit_seconds", "accuracy_seconds")


def plan(settings: Settings, sources: Sources) -> list[Cell]:
    effort = {name: getattr(settings, name) for name in EFFORT}
    present = [name for name in _asked(settings) if RIVALS[name].missing() is None]
    return [
        Cell(
            NAME,
            {**problem, "rival": rival, **effort},
            settings.fit_limit,
            # Once a rival was stopped, a larger study would tell no more.
            None if problem["sweep"] in {DATASET, SIZE_MAP} else f"{problem['sweep']} {rival}",
        )
        for problem in problems(settings, sources)
        for rival in present
    ]


def missing_rivals(settings: Settings) -> list[str]:
    """Those that cannot run here, with the reason."""
    reasons = {name: RIVALS[name].missing() for name in _asked(settings)}
    return [f"{name} is left out: {reason}" for name, reason in reasons.items() if reason]


def _asked(settings: Settings) -> Sequence[str]:
    for name in settings.rivals:
        if name not in RIVALS:
            raise ValueError(f"there is no rival {name!r}; expected some of {', '.join(RIVALS)}.")
    return settings.rivals or list(RIVALS)


def work(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Hand the problem to the rival's process, through a file without a name, which nobody has to remove."""
    X, y = make_problem(settings)
    n_samples, n_features = X.shape
    shape = {"n_samples": n_samples, "n_features": n_features, "n_classes": len(np.unique(y))}
    shape["x_bytes"] = size_in_memory(X)
    with tempfile.TemporaryFile() as file:
        save_problem(file, X, y)
        file.seek(0)
        # The rival's process needs the memory more.
        del X, y
        task = {name: settings[name] for name in ("rival", "limit", *EFFORT)} | {"file": file.fileno()}
        story = run_module(
            "experiments.rivals.clock",
            json.dumps(task),
            interpreter=RIVALS[settings["rival"]].interpreter(),
            files=[file.fileno()],
        )
    return [shape | _reached(story, shape, settings["limit"])]


def _reached(story: Story, shape: dict[str, Any], limit: float) -> dict[str, Any]:
    """What the fits that ended have reached; a limit, a refusal or a failure if none has."""
    known = {name: value for event in story.events for name, value in event.items()}
    seconds = [event["seconds"] for event in story.events if "seconds" in event]
    was_stopped = story.exit_code == -signal.SIGALRM
    if not seconds and "refused" in known:
        raise EndedError(REFUSED, known["refused"], [shape])
    if not seconds and was_stopped and "ready" in known:
        raise EndedError(TIME_LIMIT, f"stopped after {limit:g} s", [shape])
    if not seconds and story.exit_code == -signal.SIGKILL:
        # The system's answer to a lack of memory.
        raise EndedError(REFUSED, "more memory than there is", [shape])
    detail = "" if story.exit_code == 0 or was_stopped else _last_words(story)
    if not seconds:
        raise EndedError(FAILED, "the warm-up did not end" if was_stopped else detail, [shape])
    times = {"median_seconds": median(seconds), "min_seconds": min(seconds), "max_seconds": max(seconds)}
    reached = {name: value for name, value in known.items() if name not in ("ready", "refused", "seconds")}
    return {"detail": detail, "n_fits": len(seconds), **times, **reached}


def _last_words(story: Story) -> str:
    if story.exit_code < 0:
        return f"ended by {signal.Signals(-story.exit_code).name}"
    return story.last_words or f"exit status {story.exit_code}"


ITEM = Item(
    name=NAME,
    title="Time, quality and memory of a fit",
    what="Every rival on the same problems, from the raw X to the fitted model.",
    # Small ones first, so that a run shows early whether it works.
    wanted=(
        *("Colon", "Leukemia", "GLIOMA", "Prostate_GE", "MLL", "TOX_171", "Arcene"),
        *("GLI_85", "Lung", "CLL_SUB_111", "Dorothea"),
    ),
    replacements={
        "GLI_85": "GLI_85_Freije_genes",
        "Lung": "Lung_1543",
        "CLL_SUB_111": "CLL_SUB_111_binarised",
    },
    is_timed=True,
    plan=plan,
    work=work,
    report=report,
    wanted_quickly=("Colon",),
    remarks=missing_rivals,
    environment=describe_environment,
    limit_within=True,
    one_thread=False,
    measured_with=(
        "experiments.rivals.adapters",
        "experiments.rivals.clock",
        "experiments.rivals.full_lp",
        "experiments.rivals.problems",
    ),
)
