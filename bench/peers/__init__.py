"""The systems that are measured, a script each: the same join, as their users would write it.

Each runs in an environment of its own, so these modules import nothing of this checkout but what is plain Python.
"""
