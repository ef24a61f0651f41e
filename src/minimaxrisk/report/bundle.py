"""The scripts of Vega in one piece, kept from one report to the next.

vl-convert puts them together anew every time, which takes three seconds, as long as all the rest of a small
report. The outcome depends on its version alone, so it is kept in the user's cache folder, with a digest by
which a damaged file is known; where that folder cannot be written, it is made anew.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from minimaxrisk._utils.atomic import write_whole
from minimaxrisk.report.scripts import require


def is_bundle_kept() -> bool:
    """Whether ``vega_bundle`` need not make it, so that a person who waits can be told."""
    return _read(_place()) is not None


def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, in a block of its own so that its names stay inside."""
    place = _place()
    kept = _read(place)
    if kept is not None:
        return kept
    bundle: str = require("vl_convert").javascript_bundle()
    # Browsers read other ends of lines as \n, and then the hash would not be the one of the policy.
    bundle = "{" + bundle.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script") + "}"
    with suppress(OSError, ValueError):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, f"{_digest(bundle)}\n{bundle}")
    return bundle


def _place() -> Path:
    return _cache_folder() / f"vega-of-vl-convert-{require('vl_convert').__version__}.js"


def _read(place: Path) -> str | None:
    """What is kept there, if it is what was written."""
    try:
        digest, _, bundle = place.read_bytes().decode("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return bundle if digest == _digest(bundle) else None


def _digest(bundle: str) -> str:
    return hashlib.sha256(bundle.encode()).hexdigest()


def _cache_folder() -> Path:
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "minimaxrisk"
