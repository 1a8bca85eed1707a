"""Section 7.2 of the dAQM thesis, its future work, done: measured inter-arrival times, and switching between schemes.

A paper that has a ``future.toml`` gets this part of its report: :func:`sojourn.papers.future.part.run`.
"""
