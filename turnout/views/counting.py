"""How many rows the join has for a key, from how many rows either side has: the rules of `expand`, in numbers."""

from collections.abc import Callable

from turnout.schema import JoinType, Match


def joined_rows(join: JoinType, match: Match) -> Callable[[int, int], int]:
    """Left rows, right rows that take part -> rows of the joined table."""
    match join, match:
        case JoinType.SEMI, _:
            return lambda left, right: left if right else 0
        case JoinType.ANTI, _:
            return lambda left, right: 0 if right else left
        case JoinType.INNER, _:
            return lambda left, right: left * right
        case JoinType.LEFT, Match.ALL:
            return lambda left, right: left * (right or 1)
        case JoinType.RIGHT, Match.ALL:
            return lambda left, right: right * (left or 1)
        case _, Match.ALL:
            return lambda left, right: left * right or left + right
        case JoinType.LEFT, _:
            return lambda left, _: left
        case JoinType.RIGHT, _:
            return lambda _, right: right
        case _:  # the latest right row is shown with every left row, the others each by themselves
            return lambda left, right: left + right - 1 if left and right else left + right
