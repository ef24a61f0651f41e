"""The items by name: tables and figures of the paper, questions about the guarantees, and the benchmark."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.accuracy import errors, narrow, simulated
from experiments.guarantees import (
    coverage,
    false_alarms,
    headline,
    intervals,
    matched_pairs,
    misuse,
    noise_floor,
    path_and_fits,
    permutation_time,
    prediction_sets,
    prevalence,
    radii_and_truth,
    radius_rules,
    rejections,
    reliable_lists,
    several_classes,
)
from experiments.harness.reporting import Item
from experiments.paper import bounds_and_times, epsilon, feature_selection, many_samples, n_max, scalability
from experiments.rivals import cluster, reading, report_times, scale, searches, speed, throughput


def _by_name(*items: Item) -> Mapping[str, Item]:
    return {item.name: item for item in items}


PAPER_ITEMS = _by_name(
    epsilon.ITEM, n_max.ITEM, scalability.ITEM, bounds_and_times.ITEM, feature_selection.ITEM
)
SECOND_PAPER_ITEMS = _by_name(many_samples.ITEM)
GUARANTEE_ITEMS = _by_name(
    headline.ITEM,
    prevalence.ITEM,
    radii_and_truth.ITEM,
    several_classes.ITEM,
    coverage.ITEM,
    noise_floor.ITEM,
    rejections.ITEM,
    permutation_time.ITEM,
    radius_rules.ITEM,
    path_and_fits.ITEM,
    reliable_lists.ITEM,
    intervals.ITEM,
    misuse.ITEM,
    false_alarms.ITEM,
    matched_pairs.ITEM,
    prediction_sets.ITEM,
)
ACCURACY_ITEMS = _by_name(errors.ITEM, simulated.ITEM, narrow.ITEM)
RIVAL_ITEMS = _by_name(speed.ITEM, throughput.ITEM, searches.ITEM, reading.ITEM, report_times.ITEM)
SCALE_ITEMS = _by_name(scale.ITEM, cluster.ITEM)
