"""Arrow as it comes from the server, as what people work with. Each library is loaded when it is asked for."""

# mypy: disable-error-code="import-untyped, import-not-found"
# Those who do without pyarrow and pandas need no types of them either.

from typing import IO, TYPE_CHECKING

from turnout.client.errors import TurnoutError

if TYPE_CHECKING:
    from typing import TypeAlias

    import pandas
    import polars
    import pyarrow

    PolarsFrame: TypeAlias = polars.DataFrame
    ArrowTable: TypeAlias = pyarrow.Table
    PandasFrame: TypeAlias = pandas.DataFrame


def to_polars(stream: IO[bytes]) -> "PolarsFrame":
    import polars as pl

    return pl.read_ipc_stream(stream.read())


def to_arrow(stream: IO[bytes]) -> "ArrowTable":
    try:
        import pyarrow as pa
    except ImportError:
        raise TurnoutError("to_arrow() needs pyarrow: install it with `pip install pyarrow`.") from None
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all()


def to_pandas(stream: IO[bytes]) -> "PandasFrame":
    """With pandas' own nullable types: a column of whole numbers stays exact although some are missing."""
    try:
        import pandas as pd
        import pyarrow as pa
    except ImportError:
        raise TurnoutError(
            "to_pandas() needs pandas and pyarrow: install them with `pip install pandas pyarrow`."
        ) from None
    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.float64(): pd.Float64Dtype()}
    return to_arrow(stream).to_pandas(types_mapper=nullable.get)
