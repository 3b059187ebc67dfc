"""Turnout: a live join of Kafka topics on Spark, re-pointed by a message while people keep watching."""

__version__ = "0.1.0"
