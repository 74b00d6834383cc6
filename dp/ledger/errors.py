"""What goes wrong in a ledger. Every message says what to do; none holds a question, an answer or a key."""

from dp.errors import LedgerError


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
