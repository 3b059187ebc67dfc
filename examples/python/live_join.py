"""The live join in a terminal: `python live_join.py [URL]`, Ctrl-C ends it. Begin with `turnout demo`."""

import sys

from turnout.client import Change, Client

with Client(*sys.argv[1:]) as client:
    print(client.table("final_ui").to_polars(filter="balance>100", sort="balance:desc", limit=5))
    for event in client.table("final_ui").changes():  # goes on through switches, cuts and restarts
        if isinstance(event, Change):
            for row in event.upserts.values():
                print("changed:", row)
        else:
            print(f"generation {event.generation}: {len(event.rows)} rows")
