"""The statistics of simulation output; :mod:`sojourn.stats` is the name to import them by."""
