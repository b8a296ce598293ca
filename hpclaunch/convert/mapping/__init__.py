"""What families find -> facts of the job. `place` of a module puts its facts and findings into the draft.

What is asked of Slurm, in the order in which one builds on the other: asked (options with their lines), sizes
(how many nodes, ranks and GPUs), launch (srun commands as steps, and which of them is the run), srun_run (the
run -> the job, which calls all of those below). slurm, slurm_options and step_options say what becomes of
options; submitted, settled, made and export are about what the script's variables are when it runs.

With docker instead: docker_steps (each command and what it is for), docker_nodes, docker_sizes,
docker_options and docker_mounts. other_schedulers: PBS, LSF and Grid Engine.

A key of the job: container and container_mounts (`image`, `container`, `mounts`), binding and ompi_bind
(`bind`), mpi (`mpi`, and mpirun's options), rendezvous, environment (variables that are exported) and
handed_on (those that -e or -x names), trials, steps (`setup`, `before_each`, `after`, `stage_in`),
surroundings (modules, cd and limits before the run), alone and beyond (what is said of runs without srun, and
of what no job has).

For all of them: texts (words -> a path or a command of the job file), lines (which lines a text comes from),
hosts (loops over hosts), rank_script (the script that each rank executes).
"""
