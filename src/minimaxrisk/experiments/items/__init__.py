"""One module per table or figure of the paper."""

from minimaxrisk.experiments.items import bounds_and_times, epsilon, feature_selection, n_max, scalability

ITEMS = {
    item.name: item
    for item in (epsilon.ITEM, n_max.ITEM, scalability.ITEM, bounds_and_times.ITEM, feature_selection.ITEM)
}
