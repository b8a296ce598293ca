"""The job's folder: what was sent, how it was sent, and what became of it. Survives a crash at any point."""
