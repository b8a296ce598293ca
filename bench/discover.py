"""What `hpclaunch topo discover` costs: the CPU time of the whole process, as typed.

From seven captures of a DGX A100 as text, and from one hwloc XML of it. The aim is 0.3 s. Against
`python -c "import click, yaml, jinja2"` in the same environment, as render.py.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import measure

sys.path.insert(0, str(measure.ROOT / "tests"))

TEXTS = (
    "lscpu -e",
    "numactl -H",
    "nvidia-smi topo -m",
    "ibdev2netdev -v",
    "ibstat",
    "lspci -tv",
    "lspci -D -vmm",
)


def write(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """The captures of a DGX A100 as files."""
    import captured

    from hpclaunch.topology import catalogue

    machine = catalogue.load("dgx-a100").value
    files = []
    for number, name in enumerate(names):
        file = folder / f"{number}.txt"
        file.write_text(captured.FORMATS[name](machine))
        files.append(file)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = measure.new_environment(folder / "venv", str(measure.wheel(folder)))
        for name in ("text", "xml"):
            (folder / name).mkdir()
        discover: list[str | Path] = [programs / "hpclaunch", "topo", "discover"]
        times = measure.alternate(
            rounds,
            imports=[programs / "python", "-c", "import click, yaml, jinja2"],
            discover_text=[*discover, *write(folder / "text", TEXTS)],
            discover_xml=[*discover, *write(folder / "xml", ("hwloc 2",))],
        )
        measure.show(times, "imports")


if __name__ == "__main__":
    main()
