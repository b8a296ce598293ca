"""What becomes of a job that does not end by itself."""

from msgspec import Struct

# The variable with how often the job was started again by its scheduler.
RESTARTS = "HPCLAUNCH_RESTARTS"
# And that with the number of a chain's link, from 0.
LINK = "HPCLAUNCH_LINK"


class WarnSignal(Struct, frozen=True):
    """A signal that the ranks get `before` seconds before the time limit: its name without SIG."""

    name: str
    before: int


class Notify(Struct, frozen=True):
    """Who is told of a job's end, and with `start` of each of its starts. Either `command` gets the facts as
    JSON on its standard input, in `folder`; or they are posted to `webhook`, or to the URL that the secret
    `webhook_secret` has. `token` is the name of a secret that goes with them."""

    command: tuple[str, ...] = ()
    folder: str = ""
    webhook: str = ""
    webhook_secret: str = ""
    token: str = ""
    start: bool = False


class LongRun(Struct, frozen=True):
    """With `requeue` the scheduler starts the job again, from its beginning and with the same id, after the
    failure of a node or when another job took its nodes. `chain` is how many jobs there are at the most, one
    after the other until the command is done, 0 for no chain."""

    requeue: bool = False
    signal: WarnSignal | None = None
    notify: Notify | None = None
    chain: int = 0
