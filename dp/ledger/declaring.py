"""Declaring: what operators do to a ledger: budgets, shared lifetimes and epochs, and what there is of each."""

from collections.abc import Iterable

from dp.errors import ParameterError
from dp.ledger import policy_change
from dp.ledger.epoch_date import epoch_since
from dp.ledger.limits.budget import Status, read_status, require_lifetime
from dp.ledger.limits.budgets import Budgets, SharedLifetime
from dp.ledger.limits.consent import SOFT_LIMIT_NANO, Consent
from dp.ledger.limits.copies import OWN_NAME
from dp.ledger.limits.declared import read_budgets
from dp.ledger.limits.scope_status import ScopeStatus, read_scopes
from dp.ledger.limits.shared import SharedStatus, read_shared, read_shared_of
from dp.ledger.policy_change import Declaration
from dp.ledger.store.unreadable import numbers_and_names
from dp.ledger.transacting import Transacting
from dp.request import require_name, require_text


class Declaring(Transacting):
    """What datasets may cost. Every change is an entry in the log."""

    def declare(
        self,
        dataset: str,
        budgets: Budgets | int,
        *,
        lifetime_atto_delta: int = 0,
        reason: str = "",
        accept: bool = False,
        soft_limit_nano: int = SOFT_LIMIT_NANO,
    ) -> Declaration:
        """Set what the dataset may cost one person, all askers together. It is logged where that is a change.

        budgets: all of them; or an int, of the lifetime alone: what else was declared stays.
        lifetime_atto_delta: beside an int; 0 for a promise of epsilon alone; otherwise half of it is for the questions'
            own deltas, and half buys a sum of rho that counts where the sum of epsilon is above the lifetime's.
        reason: why they change; not needed for the first ones.
        accept: also where they are raised so that a year may cost one person more than the soft limit. The first ones
            are only warned of.
        Raises: ParameterError, SoftLimitError.
        """
        require_name("dataset", dataset)
        consent = Consent(reason, accept, soft_limit_nano)
        if isinstance(budgets, Budgets):
            return self._run(lambda c, _: policy_change.declare(c, self._log, dataset, budgets, consent))
        require_lifetime(budgets, lifetime_atto_delta)
        return self._run(
            lambda c, _: policy_change.declare_lifetime(c, self._log, dataset, budgets, lifetime_atto_delta, consent)
        )

    def share_lifetime(
        self,
        name: str,
        lifetime_nano: int,
        datasets: Iterable[str],
        *,
        lifetime_atto_delta: int = 0,
        reason: str = "",
        accept: bool = False,
        soft_limit_nano: int = SOFT_LIMIT_NANO,
    ) -> Declaration:
        """Set what several datasets may cost one person together, beside what each may. It begins with what they spent.

        A dataset that is taken out leaves what it has spent behind, and brings along all of it when it comes back.
        Raises: ParameterError, SoftLimitError, UnknownDatasetError.
        """
        if name.startswith(OWN_NAME):
            raise ParameterError("name", f"lifetimes called {OWN_NAME!r}... are the ledger's own; choose another")
        shared = SharedLifetime(name, lifetime_nano, lifetime_atto_delta, tuple(datasets))
        consent = Consent(reason, accept, soft_limit_nano)
        return self._run(lambda c, _: policy_change.share_lifetime(c, self._log, shared, consent))

    def budgets(self, dataset: str) -> Budgets:
        """As they were declared last. Raises: UnknownDatasetError."""
        with self._snapshot() as connection:
            return policy_change.require_declared(read_budgets(connection, dataset), dataset)

    def shared_lifetime(self, name: str) -> SharedStatus | None:
        """None where there is none of that name."""
        with self._snapshot() as connection:
            return read_shared(connection, name)

    def scopes(self, dataset: str) -> tuple[ScopeStatus, ...]:
        """What each scope that is declared has spent, and every analyst's who asked. Raises: UnknownDatasetError."""
        with self._snapshot() as connection:
            policy_change.require_declared(read_status(connection, dataset), dataset)
            with numbers_and_names():
                return read_scopes(connection, dataset, self._log.now())

    def shared_lifetimes(self, dataset: str) -> tuple[SharedStatus, ...]:
        """Those that the dataset is under, also such as the ledger made for copies of one source."""
        with self._snapshot() as connection:
            return read_shared_of(connection, dataset)

    def advance_epoch(self, dataset: str, reason: str) -> int:
        """Say that the data is new: questions get new answers, at a new charge. The budget is the same one.

        Raises: UnknownDatasetError.
        """
        require_text("reason", reason)
        return self._run(lambda c, _: policy_change.advance_epoch(c, self._log, dataset, reason))

    def epoch_since(self, dataset: str) -> int:
        """When the dataset's epoch was advanced last, or else when it was declared; in microseconds since 1970, UTC.

        Raises: UnknownDatasetError.
        """
        with self._snapshot() as connection:
            return policy_change.require_declared(epoch_since(connection, dataset), dataset)

    def status(self, dataset: str) -> Status:
        """Raises: UnknownDatasetError."""
        with self._snapshot() as connection:
            return policy_change.require_declared(read_status(connection, dataset), dataset)
