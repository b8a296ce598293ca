"""The parts of a sandbox that are written in C: compiled for its machines and its folders."""

import shutil
import subprocess
from importlib.resources import as_file, files

from hpclaunch.sandbox import packages
from hpclaunch.sandbox.configuration import BIND_TOOLS, Settings
from hpclaunch.sandbox.hwloc import compiler_definitions
from hpclaunch.sandbox.layout import Layout
from hpclaunch.values.errors import HpclaunchError


def build(layout: Layout, settings: Settings) -> None:
    """Compile all of it. The folders exist. Raises HpclaunchError with what the compiler said."""
    record = f'-DRECORD="{layout.affinity}"'
    shared = ["-shared", "-fPIC"]
    wanted = [
        (layout.preload(number), "preload.c", [*shared, *compiler_definitions(group.machine), record])
        for number, group in enumerate(settings.groups)
    ]
    wanted += [
        (layout.native / f"{name}.so", f"{name}.c", shared) for name in ("spank_pyxis", "spank_machine")
    ]
    real = layout.native / "real"
    stand_ins = layout.native / "bin" / BIND_TOOLS[0]
    wanted.append((stand_ins, "bindtools.c", [record, f'-DTASKS="{layout.tasks}"', f'-DREAL="{real}"']))
    with as_file(files("hpclaunch.sandbox").joinpath("native")) as sources:
        jobs = []
        for target, source, options in wanted:
            argv = [packages.find("cc"), "-O1", *options, "-o", str(target), str(sources / source)]
            jobs.append(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        said = [job.communicate()[0] for job in jobs]
        for job, words in zip(jobs, said, strict=True):
            if job.returncode:
                raise HpclaunchError(f"the C compiler failed:\n{words}")
    for tool in BIND_TOOLS:
        shutil.copy(packages.find(tool), real / tool)
        if tool != stand_ins.name:
            shutil.copy(stand_ins, stand_ins.with_name(tool))
