"""Names that are the same but for their spelling: versions of genes, leading zeros, suffixes of samples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from minimaxrisk._utils.arguments import listed
from minimaxrisk.app.files.messages import folded

Key = Callable[[str], str]  # what two spellings of a name have in common; empty if nothing

VERSION = re.compile(r"^(ens[a-z]*\d{6,}|[nx][mrp]_\d+)\.\d+")  # of Ensembl and RefSeq
LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
DIGITS = re.compile(r"\d+")
SEPARATORS = re.compile(r"[-._:/ ]+")


@dataclass(frozen=True)
class LooseMatch:
    """Names of a file by those that were asked for, where they differ in spelling alone."""

    how: str  # "without the version", for messages
    pairs: dict[str, str]  # the name asked for, by that of the file
    ambiguous: list[str]  # names asked for that several names could be

    @property
    def n_matching(self) -> int:
        """How many names match one, or where none does, several."""
        return len(self.pairs) or len(self.ambiguous)

    def refuse_ambiguous(self, where: object) -> None:
        if self.ambiguous:
            raise ValueError(
                f"{where}: names that match {self.how} must do so one to one, but {len(self.ambiguous)} "
                f"match several or the same: {listed(self.ambiguous)}; make these names equal."
            )

    def example(self) -> str:
        """One pair in words."""
        theirs, ours = next((pair for pair in self.pairs.items() if pair[0] != pair[1]), ("", ""))
        return f"{theirs!r} for {ours!r}"


def match_features(wanted: Sequence[str], found: Iterable[str]) -> LooseMatch:
    """Names of columns that are equal but for case and blanks, or for the version."""
    keys: list[tuple[str, Key]] = [
        ("but for case and blanks", _plain),
        ("without the version", lambda name: VERSION.sub(r"\1", _plain(name))),
    ]
    return _best(wanted, found, keys)


def match_samples(wanted: Sequence[str], found: Iterable[str]) -> LooseMatch:
    """Names of samples that are equal but for punctuation, leading zeros, a suffix, or around a number."""
    found = list(found)
    depth = min((len(_parts(name)) for name in (*wanted, *found) if name), default=1)
    keys: list[tuple[str, Key]] = [
        ("but for case, blanks and punctuation", folded),
        ("without leading zeros", lambda name: LEADING_ZEROS.sub("", folded(name))),
        ("without the suffix", lambda name: "-".join(_parts(name)[:depth])),
    ]
    if any(all(map(str.isdecimal, names)) for names in (wanted, found)):  # S001 for 1, and never for T001
        keys.append(("by their number alone", _only_number))
    return _best(wanted, found, [(how, partial(_with_signs, key)) for how, key in keys])


def _best(wanted: Sequence[str], found: Iterable[str], keys: Sequence[tuple[str, Key]]) -> LooseMatch:
    """By the first key that matches most; what is equal needs none."""
    exact = set(wanted).intersection(found := list(dict.fromkeys(found)))
    ours = [name for name in dict.fromkeys(wanted) if name not in exact]
    theirs = [name for name in found if name not in exact]
    matches = [_match(how, key, ours, theirs) for how, key in keys]
    return max(matches, key=lambda match: (len(match.pairs), len(match.ambiguous)))


def _match(how: str, key: Key, ours: Sequence[str], theirs: Sequence[str]) -> LooseMatch:
    our_keys, their_keys = [key(name) for name in ours], [key(name) for name in theirs]
    n_ours, n_theirs = Counter(our_keys), Counter(their_keys)
    by_key = dict(zip(their_keys, theirs, strict=True))
    pairs, ambiguous = {}, []
    for name, its in zip(ours, our_keys, strict=True):
        if not its or its not in n_theirs:
            continue
        if n_ours[its] == n_theirs[its] == 1:
            pairs[by_key[its]] = name
        else:
            ambiguous.append(name)
    return LooseMatch(how, pairs, ambiguous)


def _plain(name: str) -> str:
    return name.strip().casefold()


def _only_number(name: str) -> str:
    found = DIGITS.findall(name)
    return str(int(found[0])) if len(found) == 1 else ""


def _with_signs(key: Key, name: str) -> str:
    """What a key says of a name, and the signs at its end: CD4+ and CD4- are not spellings of CD4."""
    found = key(name)
    return found and found + name[len(name.rstrip("+-/")) :]


def _parts(name: str) -> list[str]:
    return [part for part in SEPARATORS.split(name.casefold()) if part]
