"""Measurements of the whole product, as its users would see it. Each runs by one command: see docs/performance.md."""
