"""The future work of Shu (2023), section 7.2, carried out: measured inter-arrival times, and switching of schemes.

A paper that has a ``future.toml`` gets this part of its report: :func:`sojourn.papers.future.part.run`.
"""
