"""Who stands behind each seam, and what a sealed column is to a type checker: mypy reads this file."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

from sqlalchemy import Float, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from vault import BlindIndex, Sealed, digits

if TYPE_CHECKING:
    import dp
    from dp.ledger.keys import AuditMacs, Mac, Sealer
    from dp.noise.random_source import OperatingSystemRandom, RandomSource
    from dp.questions.mechanisms import Mechanisms, RandomMechanisms
    from dp.questions.question import Question
    from kms.logins import AppRole, Jwt, Kubernetes, Login, Token, TokenFile
    from kms.provider import DestroysKek, KeyProvider, KnowsKeks, NamesNewest, Rewraps
    from kms.providers.awskms import AwsKmsProvider
    from kms.providers.hcvault import TransitProvider
    from kms.providers.local import LocalProvider
    from kms.providers.pkcs11 import Pkcs11Provider
    from kms.refresher import Bell, RefreshBell
    from kms.routed_provider import RoutedProvider
    from tests.vault.jobs.writing_one_by_one import WritesOneByOne
    from vault.jobs.migrating.backfill import Backfill
    from vault.jobs.migrating.clear import Clear
    from vault.jobs.migrating.restore import Restore
    from vault.jobs.reencrypt import Reencrypt
    from vault.jobs.reindexing.empty_slots import EmptySlots
    from vault.jobs.reindexing.reindex import Reindex
    from vault.jobs.row_keyrings import OneKeyring, RowKeyrings, TenantKeyrings
    from vault.jobs.work import BatchWriter, Leased, OverlooksRows, Rehearses, Work
    from vault.jobs.writing.held_rows import WritesHeldRows
    from vault.ledger_keys import LedgerAuditMacs, LedgerMac, LedgerSealer
    from vault.mapping.attached import Attached, AttachedVault, OpensFields
    from vault.mapping.attached_tenants import AttachedTenants, OpensTenants
    from vault.modes.mode import Modes, SealedOnly
    from vault.modes.recorded_modes import RecordedModes
    from vault.opened import OpenedVault
    from vault.tenants import TenantVaults

    def key_providers(local: LocalProvider) -> KeyProvider:
        return local

    def transit(provider: TransitProvider) -> KeyProvider:
        return provider

    def tokens(provider: Pkcs11Provider) -> KeyProvider:
        return provider

    def aws(provider: AwsKmsProvider) -> KeyProvider:
        return provider

    def logins(login: Token | TokenFile | AppRole | Jwt | Kubernetes) -> Login:
        return login

    def rewraps(provider: AwsKmsProvider | TransitProvider) -> Rewraps:
        return provider

    def names_newest(provider: LocalProvider | Pkcs11Provider) -> NamesNewest:
        return provider

    def routed(provider: RoutedProvider) -> KeyProvider:
        return provider

    def knows_keks(provider: AwsKmsProvider | LocalProvider | Pkcs11Provider | TransitProvider) -> KnowsKeks:
        return provider

    def destroys(provider: AwsKmsProvider | LocalProvider | Pkcs11Provider | TransitProvider) -> DestroysKek:
        return provider

    def bells(bell: RefreshBell) -> Bell:
        return bell

    def macs(mac: LedgerMac) -> Mac:
        return mac

    def audit_macs(of: LedgerAuditMacs) -> AuditMacs:
        return of

    def sealers(sealer: LedgerSealer) -> Sealer:
        return sealer

    def works(work: Reencrypt | Reindex | EmptySlots) -> Work:
        return work

    def rehearses(work: Reencrypt) -> Rehearses:
        return work

    def leased(work: Reencrypt) -> Leased:
        return work

    def overlooks_rows(work: Reindex | Backfill | Restore) -> OverlooksRows:
        return work

    def writers(writer: WritesOneByOne | WritesHeldRows) -> BatchWriter:
        return writer

    def row_keyrings(keyrings: OneKeyring | TenantKeyrings) -> RowKeyrings:
        return keyrings

    def randomness(source: OperatingSystemRandom) -> RandomSource:
        return source

    def additive(
        question: dp.Count | dp.CountUnits | dp.CountDistinct | dp.Histogram | dp.Sum | dp.Mean | dp.Variance,
    ) -> Question:
        return question

    def questions(question: dp.StandardDeviation | dp.Quantiles | dp.TopGroups | dp.UndeclaredGroups) -> Question:
        return question

    def mechanisms(drawn: RandomMechanisms) -> Mechanisms:
        return drawn

    def migrations(work: Backfill | Restore | Clear) -> Work:
        return work

    def rehearsals(work: Backfill | Restore | Clear) -> Rehearses:
        return work

    def modes(modes: RecordedModes | SealedOnly) -> Modes:
        return modes

    def vaults(opened: OpenedVault) -> OpensFields:
        return opened

    def tenants(opened: TenantVaults) -> OpensTenants:
        return opened

    def attachments(attached: AttachedVault | AttachedTenants) -> Attached:
        return attached


class Base(DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    national_id: Mapped[str] = mapped_column(Sealed(Text, index=BlindIndex(digits)))
    income: Mapped[float | None] = mapped_column(Sealed(Float))


def attributes(person: Person) -> None:
    assert_type(person.national_id, str)
    assert_type(person.income, float | None)


def test_mypy_agrees() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", str(Path(__file__))],  # what scripts/test has just checked it knows already
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
