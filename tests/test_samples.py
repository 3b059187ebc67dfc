from turnout.config import load
from turnout.samples import FLAVOURS, KEYS, UNMATCHED, Samples
from turnout.schema import ColumnType, JoinSchema, TableSchema

USERS_AND_ACCOUNTS = load(None, env={}).join_schema()
ORDERS_AND_PAYMENTS = JoinSchema(
    TableSchema(
        "orders",
        {
            "orderId": ColumnType.LONG,
            "shippingCity": ColumnType.STRING,
            "quantity": ColumnType.LONG,
            "message": ColumnType.LONG,
            "express": ColumnType.BOOLEAN,
            "note": ColumnType.STRING,
        },
        keep=1,
    ),
    TableSchema("payments", {"orderId": ColumnType.LONG, "unit_price": ColumnType.DOUBLE}, keep=1),
    "orderId",
)
PYTHON_TYPES = {
    ColumnType.STRING: str,
    ColumnType.LONG: int,
    ColumnType.DOUBLE: float,
    ColumnType.BOOLEAN: bool,
}


def test_every_value_has_the_type_of_its_column() -> None:
    for schema in (USERS_AND_ACCOUNTS, ORDERS_AND_PAYMENTS):
        samples = Samples(schema, FLAVOURS[0])
        for table, rows in ((schema.left, samples.every_left()), (schema.right, samples.every_right())):
            for row in rows:
                assert {name: type(value) for name, value in row.items()} == {
                    name: PYTHON_TYPES[kind] for name, kind in table.columns.items()
                }


def test_most_keys_match_and_some_of_either_side_do_not() -> None:
    samples = Samples(USERS_AND_ACCOUNTS, FLAVOURS[0])
    left = {row["userId"] for row in samples.every_left()}
    right = {row["userId"] for row in samples.every_right()}
    assert len(left) == len(right) == KEYS
    assert len(left - right) == len(right - left) == UNMATCHED


def test_later_messages_are_about_the_same_keys() -> None:
    samples = Samples(USERS_AND_ACCOUNTS, FLAVOURS[0])
    keys = {row["userId"] for row in samples.every_right()}
    assert {samples.right()["userId"] for _ in range(500)} == keys


def test_a_key_keeps_its_texts_while_its_numbers_move() -> None:
    samples = Samples(USERS_AND_ACCOUNTS, FLAVOURS[0])
    before = {row["userId"]: row for row in samples.every_left()}
    for _ in range(100):
        row = samples.left()
        last = before[row["userId"]]
        assert (row["name"], row["email"]) == (last["name"], last["email"])
        assert row["age"] != last["age"]
        before[row["userId"]] = row


def test_names_of_columns_say_what_their_values_look_like() -> None:
    user = Samples(USERS_AND_ACCOUNTS, FLAVOURS[0]).every_left()[0]
    first, last = str(user["name"]).split()
    assert user["email"] == f"{first}.{last}@example.com".lower()
    samples = Samples(ORDERS_AND_PAYMENTS, FLAVOURS[0])
    orders = samples.every_left() + [samples.left() for _ in range(500)]
    assert all(1 <= int(str(order["quantity"])) <= 20 for order in orders)
    assert all(str(order["shippingCity"]).istitle() for order in orders)
    assert max(int(str(order["message"])) for order in orders) > 90, "a message is no age"
    payments = samples.every_right() + [samples.right() for _ in range(500)]
    assert all(1 <= float(str(payment["unit_price"])) <= 500 for payment in payments)


def test_the_two_flavours_have_nothing_in_common_that_a_person_looks_at() -> None:
    here, there = (Samples(USERS_AND_ACCOUNTS, flavour) for flavour in FLAVOURS)
    for column in ("userId", "name", "email"):
        mine = {row[column] for row in here.every_left()}
        assert mine.isdisjoint({row[column] for row in there.every_left()})
    kinds = {row["accountType"] for row in here.every_right()}
    assert kinds.isdisjoint({row["accountType"] for row in there.every_right()})


def test_the_same_seed_gives_the_same_messages() -> None:
    one, other = (Samples(USERS_AND_ACCOUNTS, FLAVOURS[0], seed=7) for _ in range(2))
    assert one.every_left() == other.every_left()
    assert [one.right() for _ in range(20)] == [other.right() for _ in range(20)]
