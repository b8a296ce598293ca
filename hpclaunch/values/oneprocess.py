"""What of the rank wrapper's settings is for a process that is no rank, such as a shell."""

from collections.abc import Iterable

from hpclaunch.values.words import Option

# The folder, the rendezvous (of a world of one process), and the HCAs of the node: without `near` and what
# finds a rank's own, the wrapper hands over all that can be used. Nothing binds it, and neither an HCA that
# is down nor a memlock limit that is too low keeps anybody from looking for the reason.
_HAS = frozenset(("cwd", "rendezvous", "port", "hosts", "hcas", "openib"))


def settings(of_ranks: Iterable[Option]) -> tuple[Option, ...]:
    """Those that are left of the ranks' own, but for where a process finds its number."""
    return tuple(each for each in of_ranks if each.text.partition("=")[0] in _HAS)
