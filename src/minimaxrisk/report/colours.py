"""Colours of classes: ten chosen ones in the style sheet, and as many more as a study needs.

Beyond ten the hues go around by the golden angle, so that neighbours are far apart, and the lightness
alternates, so that hues which come near each other again differ in it.
"""

from __future__ import annotations

N_CHOSEN = 10
GOLDEN_ANGLE = 137.508


def class_colour(position: int) -> str:
    """The name of the style sheet's variable."""
    return f"c{position}"


def more_colours(n_classes: int) -> str:
    """Style rules for the classes that the style sheet has no colour for; empty where there are none."""
    if n_classes <= N_CHOSEN:
        return ""
    light, dark = [], []
    for k in range(N_CHOSEN, n_classes):
        hue, step = (GOLDEN_ANGLE * k) % 360.0, (k % 3) * 0.11
        light.append(f"--{class_colour(k)}: oklch({0.42 + step:.2f} 0.13 {hue:.1f});")
        dark.append(f"--{class_colour(k)}: oklch({0.62 + step:.2f} 0.12 {hue:.1f});")
    return (
        f":root {{ {' '.join(light)} }}\n"
        f'@media screen {{ :root[data-theme="dark"] {{ {" ".join(dark)} }} }}\n'
    )
