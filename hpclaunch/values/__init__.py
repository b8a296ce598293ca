"""The frozen types that cross package lines, and their text forms. Nothing here behaves."""
