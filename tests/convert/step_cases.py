"""A script of two lines of head and lines behind it, converted: what of its job tests compare."""

import shlex

import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
SRUN = "srun --mpi=pmix --container-image=a/b:c"


def of(*lines, **env):
    found = convert(classified({"run.sub": HEAD + "\n".join(lines) + "\n"}), Options(env))
    return script_cases.loaded(found.job), found


def text_of(run):
    return run if isinstance(run, str) else shlex.join(run)


def runs(job, key):
    return [text_of(each["run"]) for each in job.get(key, ())]


def left(found, line):
    """What is said to be left of a line behind the two of the head."""
    its = [
        each for each in found.findings if each.kind == "left" and line + 2 in [p.line for p in each.places]
    ]
    return " ".join(f"{each.what}: {each.why}" for each in its)
