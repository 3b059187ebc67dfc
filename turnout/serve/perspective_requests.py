"""What a viewer may ask Perspective for: to read, and nothing else."""

from collections.abc import Iterator

# What a reader may ask for, by the number of the request's field in Perspective's protocol (perspective.proto, 5.6).
# Whatever is not here, known or unknown, is refused: making, changing, deleting tables, and opening ports to do so.
READING = frozenset(
    {
        3,  # features
        4,  # hosted tables
        6,  # make a view of a table
        7,  # a table's schema
        8,  # its size
        10,  # a view's column paths
        11,  # delete a view
        12,  # dimensions
        13,  # expression schema
        14,  # config
        15,  # schema
        16,  # rows as Arrow
        17,  # memory in use
        18,  # collapse a group
        19,  # expand a group
        20,  # smallest and largest value
        21,  # tell about updates
        22,  # no longer
        23,  # depth of groups
        24,  # rows as columns
        25,  # rows as CSV
        26,  # rows as JSON
        29,  # tell when a table is deleted
        30,  # no longer
        34,  # tell when a view is deleted
        35,  # no longer
        36,  # rows as NDJSON
        37,  # no longer tell about hosted tables
        39,  # tell about removed rows
        40,  # no longer
        41,  # validate expressions, and describe the view that a configuration would give
    }
)
_ADDRESS = frozenset({1, 2})  # the request's own number, and the table or view it is about

# A viewer asks for a port to write through as soon as it opens a table, and waits for its number. It gets one that is
# nobody's: Perspective would keep a real one for ever, and go through all of them at every update.
MAKE_PORT = 5
_PORT_ASKED = bytes([MAKE_PORT << 3 | 2, 0])  # an empty message
_PORT_GIVEN = bytes([MAKE_PORT << 3 | 2, 2, 1 << 3, 1])  # a message whose field 1, the port, is 1


def reads_only(request: bytes) -> bool:
    """Is this one whole request, and one that only reads?"""
    fields = asked(request)
    return bool(fields) and all(field in READING for field in fields)


def unused_port(request: bytes) -> bytes | None:
    """The answer to a request for a port, None to any other."""
    if asked(request) != [MAKE_PORT] or not request.endswith(_PORT_ASKED):
        return None
    return request.removesuffix(_PORT_ASKED) + _PORT_GIVEN


def asked(request: bytes) -> list[int]:
    """The fields that say what is asked for, usually one; none if this is not a whole request."""
    try:
        return [field for field in _fields(request) if field not in _ADDRESS]
    except ValueError:
        return []


def _fields(message: bytes) -> Iterator[int]:
    """The numbers of a protobuf message's fields, from its wire format."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                _, at = _varint(message, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(message, at)
                at += length
            case 5:
                at += 4
            case kind:
                raise ValueError(f"wire type {kind} is not used")
        if at > len(message):
            raise ValueError("a field is cut off")
        yield tag >> 3


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(message):
            raise ValueError("a number is cut off")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
    raise ValueError("a number is too long")
