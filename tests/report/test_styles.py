"""Ranks are told apart in greyscale and by people who see fewer colours, and text can be read."""

from itertools import combinations, pairwise

import pytest

from hpclaunch.report.style import style
from hpclaunch.report.text import brief, fitted, printable, width, wrapped

Colour = tuple[float, ...]

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency"
# (2009), severity 1.0, on linear RGB.
VISION = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}
# Helvetica and Helvetica-Bold, from Adobe's font metrics: thousandths for the characters named.
HELVETICA = {
    False: {
        "0": 556,
        "A": 667,
        "G": 778,
        "J": 500,
        "W": 944,
        "a": 556,
        "m": 833,
        "_": 556,
        "@": 1015,
        "-": 333,
    },
    True: {
        "0": 556,
        "A": 722,
        "G": 778,
        "J": 556,
        "W": 944,
        "a": 556,
        "m": 889,
        "_": 556,
        "@": 975,
        "-": 333,
    },
}


def linear(colour: str) -> Colour:
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def lightness(y: float) -> float:
    """CIE L*, from 0 to 100."""
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def lab(rgb: Colour) -> Colour:
    red, green, blue = (min(max(part, 0), 1) for part in rgb)
    xyz = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883,
    )
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_neighbours_differ_in_lightness() -> None:
    steps = [lightness(luminance(style(owner).colour)) for owner in range(49)]
    assert all(abs(one - other) > 25 for one, other in pairwise(steps))


@pytest.mark.parametrize("vision", VISION)
def test_eight_colours_stay_apart(vision: str) -> None:
    seen = []
    for owner in range(8):
        rgb = linear(style(owner).colour)
        seen.append(lab(tuple(sum(a * b for a, b in zip(row, rgb, strict=True)) for row in VISION[vision])))
    for one, other in combinations(seen, 2):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 10


def test_48_owners_look_different_from_one_another() -> None:
    assert len({(style(owner).colour, style(owner).pattern) for owner in range(48)}) == 48


@pytest.mark.parametrize("owner", range(8))
def test_text_on_a_colour_can_be_read(owner: int) -> None:
    """WCAG asks for a contrast of 4.5."""
    look = style(owner)
    light, dark = sorted((luminance(look.colour), luminance(look.text)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("bold", [False, True])
def test_text_is_not_taken_for_narrower_than_helvetica_draws_it(bold: bool) -> None:
    for character, thousandths in HELVETICA[bold].items():
        assert width(character, 1000, bold) >= thousandths


def test_text_that_must_fit() -> None:
    for room in range(0, 200, 7):
        assert width(fitted("NUMA node 3 of a long name", room, 11), 11) <= room
    assert fitted("short", 100, 11) == "short"
    lines = wrapped(["CPUs 0-1,17,19,23-24,55,60,77,80-99,101,103", "memory 3"], 90, 11)
    assert "".join(lines).replace(" ", "") == "CPUs0-1,17,19,23-24,55,60,77,80-99,101,103memory3"
    assert all(width(line, 11) <= 90 for line in lines)
    assert len(lines) > 3


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((5,), "5"),
        ((48, 49, 50, 176, 177), "48-50,176-177"),
        (range(0, 48, 2), "0,2,…,46"),
        ((1, 3, 5), "1,3,5"),
        ((1, 3, 5, 7), "1,3,5,7"),
        ((0, 2, 4, 6, 7, 8), "0,2,4,6-8"),
        ((7, 6, 6), "6-7"),
    ],
)
def test_cpu_lists_for_people(numbers: tuple[int, ...], text: str) -> None:
    assert brief(numbers) == text


def test_control_characters_are_seen_and_not_obeyed() -> None:
    assert printable("a\x1b[2Jb\x00\u202e\x7fé漢") == "a␛[2Jb␀\ufffd␡é漢"
