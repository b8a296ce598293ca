"""Who binds the ranks -> `bind`."""
