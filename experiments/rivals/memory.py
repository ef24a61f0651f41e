"""Peak memory, measured as the experiments do; by file, since MRCpy's environment has no minimaxrisk."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location

from experiments.rivals import ROOT

_spec = spec_from_file_location("memory", ROOT / "src" / "minimaxrisk" / "experiments" / "memory.py")
assert _spec is not None
assert _spec.loader is not None
_memory = module_from_spec(_spec)
_spec.loader.exec_module(_memory)

reset_peak = _memory.reset_peak
resident_memory = _memory.resident_memory
peak_memory = _memory.peak_memory
