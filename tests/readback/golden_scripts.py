"""The golden scripts as texts."""

from pathlib import Path

SCRIPTS = Path(__file__).parent.parent / "golden" / "scripts"


def golden(name: str) -> str:
    """The script of a case, byte for byte."""
    return (SCRIPTS / f"{name}.sh").read_bytes().decode()
