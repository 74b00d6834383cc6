"""Vault client: a connection to one server that takes nothing from the environment and waits for nothing for ever."""

import hvac
import requests

from kms.provider_settings import ProviderSettings
from kms.providers.hcvault_adapter import TimedAdapter
from kms.providers.hcvault_address import TransitAddress
from kms.providers.hcvault_tls import TlsFiles
from kms.secret import SecretText

__all__ = ["connect", "open_session"]


def open_session(address: TransitAddress, settings: ProviderSettings) -> requests.Session:
    """The connections to this server, over which clients with one token after another are made.

    Not to be used by a forked child. No request is sent yet; the files that the settings name are read now.
    Raises: MisconfiguredError.
    """
    tls = TlsFiles(settings) if address.url.startswith("https:") else None
    session = requests.Session()
    session.trust_env = False
    session.verify = settings.ca_file or True
    session.mount(address.url, TimedAdapter(tls.context, tls.refresh) if tls else TimedAdapter(None))
    return session


def connect(
    address: TransitAddress, settings: ProviderSettings, token: SecretText, session: requests.Session
) -> hvac.Client:
    """A client that sends this token to this server only: no token, proxy, certificate or netrc is looked for."""
    return hvac.Client(
        url=address.url,
        token=token.reveal(),
        namespace=settings.namespace,
        timeout=settings.timeout,
        verify=session.verify,
        session=session,
        cert="",  # None would mean VAULT_CLIENT_CERT; ours is in the session
        allow_redirects=False,  # a redirect would carry the token to another host
    )
