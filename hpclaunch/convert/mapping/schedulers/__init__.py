"""What scripts for PBS, LSF, Grid Engine and others ask for, and what they start themselves."""
