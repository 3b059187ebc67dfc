"""How long nobody leads: from `kill -9` of the Turnout that leads until what is sent after that is shown elsewhere.

`make bench-takeover`, or `python -m bench.takeover --help`. Starts and ends everything by itself.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import yaml
from rich import box
from rich.console import Console
from rich.table import Table

from bench.child import Child
from bench.command import run, say
from bench.latency import at_least_1
from bench.load import Load
from bench.machine import load_average
from bench.messages import CONTROL_TOPIC, LEFT_TOPIC, RIGHT_TOPIC
from bench.rig import HOST, LIVE_SECONDS, POLL_SECONDS, kafka
from turnout.address import free_port
from turnout.client import Client
from turnout.errors import TurnoutError
from turnout.java import java_parts
from turnout.kafka.client import Cluster, Publisher

BUDGET_SECONDS = 10.0
Say = Callable[[str], None]


@dataclass(frozen=True)
class Takeover:
    """Seconds since the kill."""

    led: float
    """Until another one leads."""
    shown: float
    """Until a server that was there all the time shows what was sent after it."""
