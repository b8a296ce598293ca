"""A script as bash runs it, with a srun that is a stub, and the script that is rendered of its job."""

import os
import stat
import subprocess
from pathlib import Path

from hpclaunch.cli.planning import plan_job
from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.render import script

HEAD = "#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:0 -t 60\n"
_NOTE = '#!/bin/sh\necho "${{0##*/}} $* in $(pwd) with {shown}" | sed "s|{top}|.|g" >> "{top}/log"\n'
_SRUN = '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n'


def run(lines: str, folder: Path, shown: str = "$LD_LIBRARY_PATH") -> tuple[list[str], list[str]]:
    """What ./note and ./note.sh wrote, in this order: by the rendered script for this machine, and by the
    original. {top} in the lines is the folder of submission, and `shown` what they show of their
    environment."""

    def done(name: str, command: list[str]) -> list[str]:
        top = folder / name
        for each in (top, top / "run", top / "run/deep"):
            each.mkdir(parents=True, exist_ok=True)
            for file in ("note", "note.sh"):
                (each / file).write_text(_NOTE.format(top=top, shown=shown))
                (each / file).chmod(stat.S_IRWXU)
        srun = top / "bin/srun"
        srun.parent.mkdir()
        srun.write_text(_SRUN)
        srun.chmod(stat.S_IRWXU)
        path = f"{srun.parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "SLURM_SUBMIT_DIR": str(top)}
        subprocess.run(command, cwd=top, env=environment, check=True, timeout=100, capture_output=True)
        return (top / "log").read_text().splitlines()

    # sbatch starts the original where --chdir says.
    text = HEAD + lines.format(top=folder / "job") + "\n"
    begin = "" if "--chdir" not in lines else f"cd {folder}/script/run; "
    found = convert(classified({"run.sub": text}), Options({}))
    assert found.is_complete
    (folder / "job").mkdir()
    (folder / "job/job.yaml").write_text(found.job)
    planned = plan_job(str(folder / "job/job.yaml"), "local", ())
    (folder / "job.sh").write_text(script.render(planned.plan))
    here = done("job", ["bash", str(folder / "job.sh")])
    return here, done("script", ["bash", "-c", begin + text])
