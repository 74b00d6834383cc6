"""What goes wrong before a question is taken. Nothing was charged then."""

from vault.errors import VaultError

__all__ = ["BusyError"]


class BusyError(VaultError):
    """As many questions are in hand as are taken at once. It depends on how many there are, not on what they find."""

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self.slots = slots

    def __str__(self) -> str:
        taken = "1 question is" if self.slots == 1 else f"{self.slots} questions are"
        return f"busy: {taken} in hand, no more are taken at once, and nothing was charged; ask again after a deadline"
