"""What people look at: tables of a plan."""
