"""One module per table or figure of the paper, and one per question about the guarantees."""

from experiments.items import (
    bounds_and_times,
    coverage,
    epsilon,
    feature_selection,
    n_max,
    noise_floor,
    path,
    permutation_time,
    radius_rules,
    scalability,
    stability,
)

ITEMS = {
    item.name: item
    for item in (epsilon.ITEM, n_max.ITEM, scalability.ITEM, bounds_and_times.ITEM, feature_selection.ITEM)
}
GUARANTEES = {
    item.name: item
    for item in (
        coverage.ITEM,
        noise_floor.ITEM,
        permutation_time.ITEM,
        radius_rules.ITEM,
        path.ITEM,
        stability.ITEM,
    )
}
