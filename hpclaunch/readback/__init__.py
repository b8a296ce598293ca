"""Rendered text -> what it would launch. Nothing here knows how a text is made."""
