"""A package, so that all of its tests share one Turnout, which ends with the last of them."""
