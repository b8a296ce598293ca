"""A login node over SSH. Only commands about a site with `ssh` load this.

A transport (`by_fabric`, `by_openssh`) opens channels that run one constant command; `exchange` has a
conversation over such a channel, and `connection` keeps it up. Everything else says what to run in `words`.
"""
