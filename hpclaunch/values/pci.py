"""PCI addresses as Linux writes them: 0000:07:00.0 (domain, bus, device, function).

A domain has four digits, and five or more where a driver makes it up, as Intel's VMD does (0x10000 and up:
vmd_find_free_domain of drivers/pci/controller/vmd.c in Linux).
"""

_HEX = frozenset("0123456789abcdef")
_FUNCTIONS = frozenset("01234567")


def is_address(text: str) -> bool:
    """Whether this is a full address in lower case, as the entries of /sys/bus/pci/devices are."""
    # No pattern: compiling one would cost every start more than all checks of a node type.
    parts = text.replace(".", ":").split(":")
    if len(parts) != 4 or text.count(".") != 1 or text[-2] != ".":
        return False
    domain, bus, device, function = parts
    return (
        4 <= len(domain) <= 8
        and (len(bus), len(device)) == (2, 2)
        and _HEX.issuperset(domain + bus + device)
        and function in _FUNCTIONS
    )


def order(address: str) -> tuple[int, ...]:
    """The key that sorts addresses as the bus does: a domain may have more than four digits. Raises
    ValueError for what is not an address."""
    if not is_address(address):
        raise ValueError(f"{address!r} is not a PCI address such as 0000:07:00.0")
    return tuple(int(part, 16) for part in address.replace(".", ":").split(":"))
