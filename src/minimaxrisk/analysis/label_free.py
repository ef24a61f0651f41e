"""Which pipelines do the same to the features whatever the labels are."""

from __future__ import annotations

from sklearn import get_config
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from minimaxrisk.estimators.clipped_scaler import ClippedScaler
from minimaxrisk.estimators.fourier import RandomFourierFeatures

# By name and not by what they say of themselves: a transformer may look at labels that it does not require,
# and so may a subclass of one that does not.
LABEL_FREE = frozenset(
    {
        Binarizer,
        ClippedScaler,
        FunctionTransformer,
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        PCA,
        PowerTransformer,
        QuantileTransformer,
        RandomFourierFeatures,
        RobustScaler,
        SimpleImputer,
        StandardScaler,
        TruncatedSVD,
        VarianceThreshold,
    }
)


def ignores_labels(pipeline: Pipeline, *, has_weights: bool) -> bool:
    """Whether the steps before the last one are sure to give the same features for every labelling.

    Not where they draw at random without a seed, and not where metadata routing could take weights to them:
    it is for the pipeline to say which steps get any.
    """
    if len(pipeline) < 2 or (has_weights and get_config()["enable_metadata_routing"]):
        return False
    steps = [step for _, step in pipeline.steps[:-1]]
    return all(step is None or step == "passthrough" or _is_label_free(step) for step in steps)


def _is_label_free(step: object) -> bool:
    return type(step) in LABEL_FREE and getattr(step, "random_state", 0) is not None
