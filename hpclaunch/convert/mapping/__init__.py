"""What families find -> facts of the job. `put` of a module puts its facts and findings into the draft.

A family reads the launcher by `slurm` (what is asked of Slurm, srun commands) or by `docker` (commands that
start containers), and both put the run into the draft by the folders for keys of the job:

    words         pieces of text: their lines, a path or a command of the job file, loops over hosts
    slurm         #SBATCH lines, sizes, srun commands, and srun_run, which puts the run into the draft
    docker        the same for containers of docker: steps, sizes, arguments, and launch
    container     `image`, `container`, `mounts`, `workdir` by Pyxis's options
    bind          `bind`
    ranks         mpirun and launchers of PyTorch: `ranks_per_node`, `mpi`, `rendezvous`
    environment   `env`, `inherit`, `secrets`
    around        `trials`, `setup`, `before_each`, `after`, `stage_in`, and what no job has
    schedulers    what is asked of PBS, LSF, Grid Engine and others, and a program that a script for one of
                  them starts with no launcher

The first line of a module says what it is about.
"""
