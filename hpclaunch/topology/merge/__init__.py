"""Several captures of one machine become one node type, and a report of what they do not settle."""
