"""A value that a scheduler is asked for, put into the draft as the key of the job that it is.

Each of these gives False where the value is of no form that is known: nothing was put then.
"""

import re
from collections.abc import Callable, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.values.conversion import Place

Places = Sequence[Place]
# What an option asks for, its lines, and the option as it is written.
Rule = Callable[[str, Places, str, Draft], bool]


def put_name(value: str, places: Places, what: str, draft: Draft) -> bool:
    good = re.sub(r"[^A-Za-z0-9._-]+", "-", value).strip("-._")
    if good:
        draft.put(("name",), good, places, what)
    return bool(good)


def put_number(key: str, text: str, places: Places, what: str, draft: Draft) -> bool:
    if not text.isdecimal() or not int(text):
        return False
    draft.put((key,), int(text), places, what)
    return True


def put_count(key: str) -> Rule:
    def rule(value: str, places: Places, what: str, draft: Draft) -> bool:
        return put_number(key, value, places, what, draft)

    return rule


def put_time(value: str, places: Places, what: str, draft: Draft) -> bool:
    if not re.fullmatch(r"(\d+-)?\d+(:\d+){1,2}", value):
        return False
    draft.put(("time",), value if value.count(":") == 2 else f"{value}:00", places, what)
    return True


def put_hint(key: str) -> Rule:
    def rule(value: str, places: Places, what: str, draft: Draft) -> bool:
        if value:
            draft.hint(key, value, places, what)
        return bool(value)

    return rule
