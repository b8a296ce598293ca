"""The form of what the user writes: Job, Site, NodeType; reading them, with errors that say where."""
