"""Colours of classes: ten chosen ones in the style sheet, and as many more as a study needs.

Beyond ten the hues go around by the golden angle, so that neighbours are far apart, and the lightness
changes from one to the next, so that hues which come near each other again differ in it.
"""

from __future__ import annotations

N_CHOSEN = 10
GOLDEN_ANGLE = 137.508
# By turns: darker than the chosen ones, lighter, and about as light.
LIGHTNESS_ON_LIGHT, LIGHTNESS_ON_DARK = (0.40, 0.78, 0.47), (0.58, 0.88, 0.68)


def class_colour(position: int) -> str:
    """The name of the style sheet's variable."""
    return f"c{position}"


def more_colours(n_classes: int) -> str:
    """Style rules for the classes that the style sheet has no colour for; empty where there are none."""
    if n_classes <= N_CHOSEN:
        return ""
    light, dark = [], []
    for k in range(N_CHOSEN, n_classes):
        hue, turn = (GOLDEN_ANGLE * (k - N_CHOSEN)) % 360.0, (k - N_CHOSEN) % 3
        light.append(f"--{class_colour(k)}: oklch({LIGHTNESS_ON_LIGHT[turn]:.2f} 0.16 {hue:.1f});")
        dark.append(f"--{class_colour(k)}: oklch({LIGHTNESS_ON_DARK[turn]:.2f} 0.13 {hue:.1f});")
    return (
        f":root {{ {' '.join(light)} }}\n"
        f'@media screen {{ :root[data-theme="dark"] {{ {" ".join(dark)} }} }}\n'
    )
