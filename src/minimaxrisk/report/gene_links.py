"""Links from names of features to sites about genes: only where asked for, since a link tells the name."""

from __future__ import annotations

import re
from urllib.parse import quote

from minimaxrisk.report.findings import Findings

SITES = {
    "ncbi": "https://www.ncbi.nlm.nih.gov/gene/?term={}%5Bsym%5D",
    "genecards": "https://www.genecards.org/cgi-bin/carddisp.pl?gene={}",
}
# What symbols of genes look like; other names would lead nowhere.
SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9.\-]{1,24}")


def check_links(site: str | None) -> None:
    """Refuse a site that is not known; asked before the work."""
    if site is not None and site not in SITES:
        raise ValueError(f"links must be one of {', '.join(SITES)}, got {site!r}.")


def gene_links(findings: Findings, site: str | None) -> dict[str, str]:
    """Addresses by name of feature; none without a site."""
    check_links(site)
    if site is None:
        return {}
    names = findings.features.names
    return {name: SITES[site].format(quote(name)) for name in names if SYMBOL.fullmatch(name)}
