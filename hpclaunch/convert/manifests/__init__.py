"""MPIJob, Pod, Job and PyTorchJob in YAML -> facts of the job."""
