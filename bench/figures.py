"""From messages sent and messages seen to figures."""

from dataclasses import dataclass

import polars as pl

from bench.seen import Seen

QUARTER = 4
"""The first and the last quarter of the messages tell whether the latency grows, that is: whether it keeps up."""

_FIRST = {"stamp": pl.Int64, "arrived": pl.Int64}


@dataclass(frozen=True)
class Figures:
    """How one observer has seen the messages of one phase. Times in milliseconds, from the message's send to its row.

    A message may be `superseded`: newer ones of its key and side were shown in its place, before it was itself. Its
    latency then ends there. `lost` ones were neither shown nor superseded; where all are, there are no times.
    """

    lost: int
    superseded: int
    shown_per_second: float
    updates: int
    rows_per_update: float
    snapshots: int
    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None
    p50_of_first_quarter: float | None
    p50_of_last_quarter: float | None


def figures(sent: pl.DataFrame, seen: Seen, keep: int) -> Figures:
    """`sent` has columns stamp, right, key; `keep` is that of either table."""
    first = pl.DataFrame({"stamp": seen.first.keys(), "arrived": seen.first.values()}, _FIRST)
    shown = sent.join(first, on="stamp", how="left").sort("stamp")
    # The latest right row of a key hides those before it; a left one is pushed out when as many newer ones are kept.
    by_right, by_left = (_nth_newer(places) for places in (1, keep))
    until = shown.with_columns(until=pl.coalesce("arrived", pl.when("right").then(by_right).otherwise(by_left)))
    latency = (until["until"] - until["stamp"]).drop_nulls() / 1000
    early, late = latency.head(latency.len() // QUARTER), latency.tail(latency.len() // QUARTER)
    return Figures(
        lost=until["until"].null_count(),
        superseded=until["arrived"].null_count() - until["until"].null_count(),
        shown_per_second=_per_second(sent, until["until"]),
        updates=seen.updates,
        rows_per_update=round(seen.rows / max(1, seen.updates), 1),
        snapshots=seen.snapshots,
        p50=_quantile(latency, 0.5),
        p90=_quantile(latency, 0.9),
        p99=_quantile(latency, 0.99),
        max=_quantile(latency, 1),
        p50_of_first_quarter=_quantile(early, 0.5),
        p50_of_last_quarter=_quantile(late, 0.5),
    )


def sent_per_second(sent: pl.DataFrame) -> float:
    return _per_second(sent, sent["stamp"])


def _nth_newer(places: int) -> pl.Expr:
    """When the message so many places after this one, of its key and side, or one after that, was shown."""
    return pl.col("arrived").fill_null(strategy="backward").shift(-places).over("right", "key")


def _per_second(sent: pl.DataFrame, ends: pl.Series) -> float:
    """How many came to an end a second, from the first message's send on."""
    begin, end = sent["stamp"].min(), ends.max()
    if not isinstance(begin, int) or not isinstance(end, int) or end <= begin:
        return 0.0
    # The first message begins the time, so it does not count.
    return round((ends.count() - 1) / (end - begin) * 1e6, 1)


def _quantile(latency: pl.Series, share: float) -> float | None:
    value = latency.quantile(share, "nearest")
    return None if value is None else round(value, 2)
