"""Amounts as people read them."""


def clock(minutes: int) -> str:
    """Whole minutes in Slurm's form: 01:30:00, 2-00:00:00, and UNLIMITED for 0."""
    if minutes == 0:
        return "UNLIMITED"
    days, rest = divmod(minutes, 1440)
    hours, minutes = divmod(rest, 60)
    return (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:00"


def counted(number: int, noun: str) -> str:
    """1 node, 2 nodes."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
