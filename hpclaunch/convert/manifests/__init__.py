"""MPIJob, Pod, Job and PyTorchJob in YAML -> facts of the job.

text -> `repair` (what copies and editors broke) -> `fields` (values with their lines, and which were read) ->
`kinds` (one workload, whatever its kind) -> size, command, environment, storage, rights, place -> what
nobody read, by name.
"""
