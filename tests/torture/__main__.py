"""`python -m tests.torture`: a Turnout that lives through everything, until time is up or something is wrong."""

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.torture.run import live

MINUTES = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--seed", type=int, help="the same seed chooses the same actions (default: a random one)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help=f"how long (default: {MINUTES:g})")
    length.add_argument("--actions", type=int, help="how many actions")
    length.add_argument("--each-once", action="store_true", help="each kind of action once, as `make test` does")
    parser.add_argument("--keep", action="store_true", help="keep the state directory, with all logs, in any case")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10_000)
    minutes = None if options.actions or options.each_once else options.minutes or MINUTES
    print(f"seed {seed}", flush=True)
    directory = Path(tempfile.mkdtemp(prefix=f"turnout-torture-{seed}-"))
    try:
        live(directory, seed, actions=options.actions, minutes=minutes)
    except AssertionError:
        return 1  # the report says it all
    if options.keep:
        print(f"Everything is left in {directory}")
    else:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
