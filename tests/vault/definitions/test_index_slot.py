from vault.definitions.index_slot import SlotKeys, SlotPin, term_column


def test_term_columns_are_named_after_column_index_and_slot() -> None:
    assert term_column("national_id", "bidx", "a") == "national_id_bidx_a"


def test_slots_come_in_order_with_their_pins() -> None:
    pin = SlotPin(b"abcd", 0)
    assert list(SlotKeys(pin)) == [("a", pin), ("b", None)]
    assert list(SlotKeys(None, pin)) == [("a", None), ("b", pin)]
