"""Maintenance: what `noisevault maintain` does by itself, and how often."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from kms.seal_counter import ROTATE_AFTER_SEALS, SP_800_38D_MAX_SEALS
from vault.policy.length import Length
from vault.policy.name import refusal
from vault.policy.section import Section
from vault.sample_size import Sample

__all__ = ["Maintenance"]

# Ours: a month's sample of so many rows finds what a three-hundredth of them has in 96 of 100 months.
VERIFY_ROWS: Final = Sample(rows=1000)


def _sample(value: Any) -> Any:
    try:
        return Sample.parse(value) if isinstance(value, str) else _refused()
    except ValueError as error:
        reason = str(error)
    raise refusal(reason)


def _refused() -> Any:
    raise ValueError('a sample is text: a number of rows, such as "1000", or a share of them, such as "1%"')


class Maintenance(Section):
    """The [maintenance] section. Without it the defaults hold.

    rotate_after: age at which the data key is replaced; None: not by age. rotate_seals: values of one field sealed.
    reencrypt: rows under older keys, after the lease. rewrap: when the key service has a newer version.
    verify_every, verify_sample: of each table. retire: data and index keys that nothing needs. destroy: retired keys
    whose wait is over; never unless it is written here, as a person writes --confirm. audit_head: a file on another
    disk that shows later that the ledger was not put back; after `placed` an absolute path.
    """

    rotate_after: Length | None = None
    rotate_seals: Annotated[int, Field(ge=1, le=SP_800_38D_MAX_SEALS)] = ROTATE_AFTER_SEALS
    reencrypt: bool = True
    rewrap: bool = True
    verify_every: Length = timedelta(days=30)
    verify_sample: Annotated[Sample, BeforeValidator(_sample)] = VERIFY_ROWS
    retire: bool = False
    destroy: bool = False
    audit_head: Annotated[str, Field(min_length=1)] | None = None

    def placed(self, folder: Path) -> "Maintenance":
        """The same, seen from the policy's folder."""
        if self.audit_head is None:
            return self
        return self.model_copy(update={"audit_head": str(folder / self.audit_head)})
