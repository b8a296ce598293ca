"""What several families have in common: options and variables -> facts of the job."""
