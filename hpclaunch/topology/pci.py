"""PCI addresses as Linux writes them: 0000:07:00.0 (domain, bus, device, function)."""

import re

_ADDRESS = re.compile(r"([0-9a-f]{4,}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")


def is_address(text: str) -> bool:
    """Whether this is a full address in lower case, as the entries of /sys/bus/pci/devices are."""
    return _ADDRESS.fullmatch(text) is not None


def order(address: str) -> tuple[int, ...]:
    """The key that sorts addresses as the bus does: a domain may have more than four digits. Raises
    ValueError for what is not an address."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ValueError(f"{address!r} is not a PCI address such as 0000:07:00.0")
    return tuple(int(part, 16) for part in match.groups())
