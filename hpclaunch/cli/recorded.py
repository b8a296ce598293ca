"""What commands read of a record beside its state."""

from hpclaunch.rank.expected import read_plan
from hpclaunch.records.record import Record
from hpclaunch.values.errors import HpclaunchError
from hpclaunch.values.launchplan import LaunchPlan


def plan_of(record: Record) -> LaunchPlan:
    """The plan that was sent. Raises HpclaunchError where it cannot be read."""
    path = record.folder / "plan.json"
    try:
        return read_plan(path.read_bytes())
    except (OSError, ValueError) as error:
        raise HpclaunchError(f"the record's {path} cannot be read: {error}") from error
