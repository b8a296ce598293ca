"""The launch in Kubernetes' words: an MPIJob, or for one node a Job of one pod. `target` puts it together."""
