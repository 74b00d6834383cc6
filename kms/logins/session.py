"""Session: one process's login, renewed before it ends and made again where it cannot be.

A lease is counted from before it was asked for. At two thirds of it one caller renews, or logs in again where the
token cannot be renewed or the new lease is shorter; the others go on with the old token meanwhile. Without a token
that lives, all wait for one login and share its failure. A forked child logs in itself.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import hvac.exceptions as hv

from kms.deadline import held_in_time
from kms.errors import AccessDeniedError, KmsError, LoginExpiredError, UnavailableError
from kms.fork import forget_in_child
from kms.lease import Clock, boottime_clock
from kms.logins.app_role import AppRole
from kms.logins.grant import Grant
from kms.logins.login import Connect, Login, VaultClient
from kms.logins.login_failures import login_error

__all__ = ["LoginSession"]

# Ours, and Vault Agent's: late enough to be rare, early enough for another attempt.
RENEW_AFTER: Final = 2 / 3
# Ours: an AppRole that was refused is sent again after as many seconds. Servers lock a role after a few refusals (five,
# for 15 minutes), for everybody who has it, and one command may ask for each key of a keyring.
REFUSED_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Held:
    """A token in use. renew_at, until: by the clock; infinity where nobody said."""

    client: VaultClient
    grant: Grant
    renew_at: float
    until: float

    @classmethod
    def since(cls, asked: float, client: VaultClient, grant: Grant) -> "_Held":
        seconds = math.inf if grant.seconds is None else grant.seconds
        return cls(client, grant, asked + seconds * RENEW_AFTER, asked + seconds)


class LoginSession:
    """Errors are returned and raised by the caller, so that no frame of the client is in their chains."""

    def __init__(
        self,
        login: Login,
        connect: Connect,
        explain: Callable[[Exception], KmsError],
        place: str,
        clock: Clock = boottime_clock,
    ) -> None:
        """explain: our error for what the client raised. place: the key that the login is for, for messages."""
        self._login = login
        self._connect = connect
        self._explain = explain
        self._place = place
        self._clock = clock
        self.forget_after_fork()
        forget_in_child(self)

    def forget_after_fork(self) -> None:
        """Token and lock are the parent's."""
        self._lock = threading.Lock()
        self._held: _Held | None = None
        self._attempts = 0
        self._failure: KmsError | None = None
        self._refused_until = -math.inf

    def client(self) -> VaultClient | KmsError:
        """A client with a token that lives, or why there is none."""
        held, attempts, now = self._held, self._attempts, self._clock()
        if held is not None and now < held.renew_at:
            return held.client
        lock = self._lock
        if held is not None and now < held.until:
            if not lock.acquire(blocking=False):
                return held.client
            try:
                if self._held is held:
                    self._held = self._renewed(held)
            finally:
                lock.release()
            return held.client if self._held is None else self._held.client
        with held_in_time(lock) as in_time:
            if not in_time:
                return self._too_late()
            if self._held is not held and self._held is not None:
                return self._held.client
            return self._next(attempts)

    def client_after_refusal(self, refused: VaultClient) -> VaultClient | KmsError | None:
        """After a "permission denied": another client to try once, why there is none, or None if the login stands.

        Then it is the policy that denies.
        """
        attempts, lock = self._attempts, self._lock
        with held_in_time(lock) as in_time:
            if not in_time:
                return self._too_late()
            held = self._held
            if held is not None and held.client is not refused:
                return held.client
            if held is not None and held.grant.seconds is None:
                return self._given_anew(held)
            if _stands(refused):
                return None
            self._held = None
            return self._next(attempts)

    def _too_late(self) -> UnavailableError:
        return UnavailableError(f"another thread's login for {self._place} took until the deadline of this call")

    def _given_anew(self, held: _Held) -> VaultClient | KmsError | None:
        """A token that we were given costs nothing to look at again; only another one is worth a try."""
        new = self._logged_in()
        if isinstance(new, KmsError):
            return new
        if new.grant.token != held.grant.token:
            self._held = new
            return new.client
        if _stands(held.client):
            return None
        return LoginExpiredError(
            f"the token for {self._place} is wrong, expired or revoked: log in again, or {self._login.advice}"
        )

    def _next(self, attempts: int) -> VaultClient | KmsError:
        """A new login, unless one that was made while we waited has failed, or one was just refused."""
        shared = self._attempts != attempts or self._clock() < self._refused_until
        if shared and self._failure is not None:
            return type(self._failure)(*self._failure.args)
        new = self._logged_in()
        self._attempts += 1
        if isinstance(new, KmsError):
            self._failure = new
            if isinstance(new, AccessDeniedError) and isinstance(self._login, AppRole):
                self._refused_until = self._clock() + REFUSED_SECONDS
            return new
        self._held, self._failure = new, None
        return new.client

    def _renewed(self, held: _Held) -> _Held:
        """The token for the time to come; the old one, with a later attempt, where there is none to be had."""
        renewed = self._renew(held) if held.grant.renewable else None
        if renewed is not None and _not_shorter(renewed.grant, held.grant):
            return renewed
        new = self._logged_in()
        if not isinstance(new, KmsError):
            return new
        if renewed is not None:
            return renewed
        now = self._clock()
        return replace(held, renew_at=now + max(0.0, held.until - now) / 2)

    def _renew(self, held: _Held) -> _Held | None:
        asked = self._clock()
        try:
            grant = Grant.of(held.client.write_data("auth/token/renew-self", data={}))
        except Exception:  # noqa: BLE001  # past its greatest age (500), revoked (403), a batch token (400), no answer
            return None
        return _Held.since(asked, held.client, grant)

    def _logged_in(self) -> _Held | KmsError:
        asked = self._clock()
        try:
            grant = self._login.log_in(self._connect)
            return _Held.since(asked, self._connect(grant.token), grant)
        except Exception as raised:  # noqa: BLE001  # whatever it is, its frames hold what was sent
            known = login_error(raised, self._place, self._login.advice)
            error = self._explain(raised) if known is None else type(known)(*known.args)
        return error


def _not_shorter(new: Grant, old: Grant) -> bool:
    return new.seconds is None or (old.seconds is not None and new.seconds >= old.seconds)


def _stands(client: VaultClient) -> bool:
    """A dead token and a policy's refusal are both "permission denied"; only the token's own look-up tells which."""
    try:
        client.read("auth/token/lookup-self")
    except hv.Forbidden:
        return False
    except Exception:  # noqa: BLE001  # no news: the first answer stands
        return True
    return True
