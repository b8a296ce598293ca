"""Which ranks run under a profiler, and how it is called. Only jobs with a profile load this."""

import os.path
from collections.abc import Sequence

from hpclaunch.spec.job import Job
from hpclaunch.spec.profile import ProfileSpec
from hpclaunch.values.errors import Problem
from hpclaunch.values.launchplan import Common, Mount
from hpclaunch.values.words import Option

# Words before the user's own, and the option that names the file: `nsys profile --help` of Nsight Systems
# 2020 to 2025, `ncu --help` of Nsight Compute 2020 to 2025. Both end with the command's own status.
_TOOLS = {
    "nsys": (("nsys", "profile", "--force-overwrite=true"), "--output="),
    "ncu": (("ncu", "--force-overwrite"), "--export="),
}


def settings(job: Job, common: Common) -> list[Option]:
    """Of the rank wrapper."""
    profile = job.profile
    assert profile is not None
    words, output = _TOOLS[profile.tool]
    ranks = ",".join(map(str, profile.ranks))
    return [
        Option(f"profile={ranks}", "these ranks run under a profiler"),
        Option(f"profile_to={os.path.join(_folder(job, profile, common.cwd), job.name)}", "-JOB-rank-N"),
        Option("profiler=" + "\n".join((*words, *profile.args, output)), "its words, one on each line"),
    ]


def problems(job: Job, ranks: int) -> list[Problem]:
    """What the size of the job tells to be wrong; `ranks` are those of a node."""
    assert job.profile is not None
    total = job.nodes * ranks
    if "\n" in job.directory:
        return [Problem("profile: the folder of the job has a line break in its name", "job", ("profile",))]
    return [
        Problem(f"profile.ranks: the job has the ranks 0 to {total - 1}, and no {rank}", "job", path)
        for index, rank in enumerate(job.profile.ranks)
        for path in (("profile", "ranks", index),)
        if not 0 <= rank < total
    ]


def warnings(job: Job, mounts: Sequence[Mount]) -> list[str]:
    """What the user would find out too late."""
    profile = job.profile
    assert profile is not None
    if job.image is None or profile.output is None:
        return []
    folder = os.path.normpath(profile.output)
    inside = [each for each in mounts if f"{folder}/".startswith(f"{os.path.normpath(each.target)}/")]
    if any(not each.read_only for each in inside):
        return []
    why = "is mounted to be read only" if inside else "is in no mount of the job, and ends with the container"
    return [f"profile.output: {profile.output} {why}"]


def _folder(job: Job, profile: ProfileSpec, cwd: str) -> str:
    if profile.output is not None:
        return os.path.normpath(os.path.join(job.directory, profile.output))
    return os.path.join(cwd, "profiles")
