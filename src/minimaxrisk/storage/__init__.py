"""Models in files that execute nothing, and fingerprints of the data they came from."""

from minimaxrisk.storage.fingerprint import fingerprint, fingerprint_of_used
from minimaxrisk.storage.model_file import SavedModel, load_model, save_model

__all__ = ["SavedModel", "fingerprint", "fingerprint_of_used", "load_model", "save_model"]
