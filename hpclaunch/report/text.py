"""How wide text is, and how to make it fit, without asking a browser.

A width is that of DejaVu Sans (its hmtx table) or of Helvetica (Adobe's font metrics, which Arial and
Liberation Sans share), whichever is wider: these are what a browser takes for the fonts of a picture.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

# Thousandths of the font size for the characters from U+0020 to U+007E.
_REGULAR = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 556, 1015, 684, 686, 722, 770, 667, 611, 778,
    752, 295, 500, 667, 557, 863, 748, 787, 667, 787, 722, 667, 611, 732, 684, 989, 685, 667, 685, 390,
    337, 390, 838, 556, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
    635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip
_BOLD = (
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696,
    696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 611, 1000, 774, 762, 734, 830, 683, 683, 821,
    837, 372, 556, 775, 637, 995, 837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457,
    365, 457, 838, 556, 500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687,
    716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
)  # fmt: skip
_OTHER = 1250  # wider than an ideograph, a Cyrillic Shcha or an emoji
_NARROWEST = 275  # of all of them


def width(text: str, size: float, bold: bool = False) -> float:
    """At least as wide as the text is drawn, in the unit of `size`."""
    table = _BOLD if bold else _REGULAR
    return sum(table[ord(c) - 32] if " " <= c <= "~" else _OTHER for c in text) * size / 1000


def fitted(text: str, room: float, size: float, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits before an ellipsis; "" where not even that does."""
    if width(text, size, bold) <= room:
        return text
    most = int(room / size / _NARROWEST * 1000) + 1
    for end in range(min(len(text) - 1, most), 0, -1):
        cut = text[:end].rstrip() + "…"
        if width(cut, size, bold) <= room:
            return cut
    return ""


def wrapped(parts: Iterable[str], room: float, size: float, joint: str = " ") -> list[str]:
    """Lines of the parts, broken between parts; a part that is wider than a line is broken behind commas, and
    what is still too wide is cut short."""
    lines: list[str] = []
    for part in parts:
        if lines and width(longer := f"{lines[-1]}{joint}{part}", size) <= room:
            lines[-1] = longer
        elif width(part, size) <= room:
            lines.append(part)
        else:
            lines += _broken(part, room, size)
    return lines


def _broken(text: str, room: float, size: float) -> list[str]:
    lines: list[str] = []
    for piece in re.findall("[^,]*,|[^,]+", text):
        if lines and width(lines[-1] + piece, size) <= room:
            lines[-1] += piece
        else:
            lines.append(piece)
    return [line for line in (fitted(line, room, size) for line in lines) if line]


def brief(numbers: Sequence[int]) -> str:
    """A CPU list for people: runs as 48-55, and even or odd numbers as 0,2,…,46."""
    ordered = sorted(set(numbers))
    parts: list[str] = []
    start = 0
    while start < len(ordered):
        step = ordered[start + 1] - ordered[start] if start + 1 < len(ordered) else 1
        end = start + 1
        while end < len(ordered) and ordered[end] - ordered[end - 1] == step:
            end += 1
        first, last = ordered[start], ordered[end - 1]
        if step == 1 and end - start > 1:
            parts.append(f"{first}-{last}")
        elif step > 1 and end - start > 4:
            parts.append(f"{first},{first + step},…,{last}")
        else:
            end = start + 1
            parts.append(str(first))
        start = end
    return ",".join(parts)


def named(noun: str, numbers: Sequence[int]) -> str:
    """ "rank 3", "ranks 0-3": the numbers as a list, or how many they are where that is long."""
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    return f"{noun}s {short(numbers)}" if len(brief(numbers)) <= 11 else f"{len(numbers)} {noun}s"


def short(numbers: Sequence[int]) -> str:
    """The numbers alone, "" for none; a long list as their count: "24×"."""
    text = brief(numbers)
    return text if len(text) <= 11 else f"{len(numbers)}\u00d7"


def printable(text: str) -> str:
    """Text that a file of XML can hold and a person can see: control characters as their symbols (U+2400),
    and what is no character as the replacement character."""
    return "".join(c if _is_plain(c) else _shown(c) for c in text)


def _is_plain(character: str) -> bool:
    # Format characters (Cf) can turn the order of a whole line around.
    return unicodedata.category(character) not in ("Cc", "Cs", "Cn", "Co", "Cf", "Zl", "Zp")


def _shown(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
