"""Watch: every pattern over the audit log, from what the questions' texts, their prices and the policy say."""

from collections.abc import Iterable

from dp.ledger.verifying.logged import Logged
from vault.policy import Policy
from vault.watching.asked import Asked
from vault.watching.at_the_limit import at_the_limit
from vault.watching.near_duplicates import near_duplicates
from vault.watching.neighbours import neighbours
from vault.watching.singled_out import different_by_few, singled_out
from vault.watching.thresholds import DEFAULTS, Thresholds
from vault.watching.tiny_charges import tiny_charges
from vault.watching.warning import Warned

__all__ = ["CODES", "watch"]

KINDS = ("charge", "policy")
# In the order in which they are told.
CODES = ("differ-by-few", "singled-out", "near-duplicates", "tiny-charges", "at-the-limit")


def watch(entries: Iterable[Logged], policy: Policy, thresholds: Thresholds = DEFAULTS, since: int = 0) -> list[Warned]:
    """What an operator should know of, of the policy's datasets.

    entries: of the whole log, in order; declarations of any time count. since: microseconds since 1970; what was asked
    before does not.
    """
    there = [one for one in entries if one.kind in KINDS and one.fields["dataset"] in policy.dataset]
    asked = [Asked.of(entry) for entry in there if entry.kind == "charge" and entry.at >= since]
    alike = list(neighbours(asked))
    found = [
        *tiny_charges(asked, policy.dataset, thresholds),
        *near_duplicates(alike, thresholds),
        *singled_out(asked, policy, thresholds),
        *different_by_few(alike, policy, thresholds),
        *at_the_limit(there, thresholds, since),
    ]
    return sorted(found, key=lambda one: (CODES.index(one.code), one))
