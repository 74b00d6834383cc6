"""Secrets of a project, in each form in which they could be told, for tests of what is told to others."""

import base64
from pathlib import Path

from tests.vault.jobs.workers.crew_project import SECRET
from vault.project import Project


def secrets_of(project: Project, folder: Path) -> list[bytes]:
    """Each data key and its wrapped bytes, the key-encryption key's file, and what the sealed columns hold."""
    keyring = project.opened.keyring
    found = [(folder / "kek").read_bytes().strip(), SECRET.encode(), b"99-00007"]
    for record in keyring.records():
        assert record.wrapped is not None
        found += [record.wrapped.ciphertext, keyring.opening(record.purpose, record.key_id).secret.raw]
    return [form for one in found for form in (one, one.hex().encode(), base64.b64encode(one).rstrip(b"="))]


def told_in(told: bytes, secrets: list[bytes]) -> list[int]:
    """Which of them are there; by place, so that no failure shows one."""
    return [at for at, one in enumerate(secrets) if len(one) >= 8 and one in told]
