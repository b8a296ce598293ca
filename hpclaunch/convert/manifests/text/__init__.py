"""The text of a manifest -> its objects and their values, each with its lines."""
