"""What every part stands on: the compiled core as Python objects, units, files, words. It imports no other part."""
