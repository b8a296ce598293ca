"""What is wrong with the site's limits. Sites without them do not load this."""

from hpclaunch.spec import findings
from hpclaunch.spec.limits import LimitsSpec
from hpclaunch.values.errors import Problem


def problems(limits: LimitsSpec) -> list[Problem]:
    """All of it."""
    return [
        findings.problem("site", ("limits", key), "it would let no job in: leave the key out for no limit")
        for key in limits.__struct_fields__
        if getattr(limits, key) is not None and getattr(limits, key) < 1
    ]
