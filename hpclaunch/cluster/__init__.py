"""What an administrator derives from a site, and how a site file differs from the running cluster."""
