"""Kinds of launchers. A family has `recognise(reading) -> Place | None`, the line by which it is known, and
`convert(reading, draft, options)`: docker_ssh, pyxis, plain_slurm and others.

others is about launchers that become no job: refusals tells which those are, singularity and
other_containers what is said of their containers.

own is about texts that hpclaunch rendered, which are read and not walked: own_text reads one, own_facts
has what it tells of its job for certain, and own_search looks for the job that renders to it; own_groups,
own_pods and own_sweep are parts of that.
"""
