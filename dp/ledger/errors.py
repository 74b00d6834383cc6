"""What goes wrong in a ledger. Every message says what to do; none holds a question, an answer or a key."""

from dp.errors import LedgerError
from dp.nano import show


class LedgerUnavailableError(LedgerError):
    """The ledger's database does not answer, or too many charge at once."""

    def __init__(self, *, unsure: bool) -> None:
        """unsure: the connection was lost during a commit, which may have been done."""
        self.unsure = unsure
        if unsure:
            message = "the ledger's database went away during a commit: what was asked may or may not be recorded;"
        else:
            message = "the ledger's database does not answer, or stays busy, and nothing was recorded;"
        super().__init__(f"{message} see that it runs and ask again (status shows what is spent)")


class StaleEpochError(LedgerError):
    """The question names an epoch that is not the dataset's present one, and has no released answer from then."""

    def __init__(self, dataset: str, asked: int, present: int) -> None:
        self.dataset = dataset
        self.asked = asked
        self.present = present
        super().__init__(f"dataset {dataset!r} is at epoch {present}, not {asked}; read its status and ask again")


class StoredAnswerError(LedgerError):
    """A released answer does not open: it was changed, moved, or sealed under a key that is gone."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        super().__init__(
            f"a stored answer for dataset {dataset!r} does not authenticate; have an operator verify the ledger's audit"
        )


class SoftLimitError(LedgerError):
    """A budget would be raised to what protects hardly anybody, and nobody said that it is meant. Nothing changed."""

    def __init__(self, what: str, yearly: int, limit: int) -> None:
        """yearly, limit: nano-epsilon that a year may cost one person."""
        self.yearly = yearly
        self.limit = limit
        super().__init__(
            f"{what} would cost one person up to epsilon {show(yearly)} a year, above {show(limit)}: declare less, or"
            " say that it is accepted"
        )


class QuestionPriceError(LedgerError):
    """The question costs less or more than one question of the dataset may. Nothing was charged."""

    def __init__(self, dataset: str, asked: int, least: int, most: int) -> None:
        """asked, least, most: nano-epsilon; 0 for no such limit."""
        self.dataset = dataset
        self.asked = asked
        self.least = least
        self.most = most
        limits = [f"{word} {show(nano)}" for word, nano in (("at least", least), ("at most", most)) if nano]
        super().__init__(
            f"a question of dataset {dataset!r} costs epsilon {' and '.join(limits)}, and this one {show(asked)};"
            " ask at such a price"
        )
