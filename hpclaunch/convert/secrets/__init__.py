"""What tells a secret, and how its value is kept out of the job file and the report."""
