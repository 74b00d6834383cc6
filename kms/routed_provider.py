"""Routed provider: several key-encryption keys behind one seam; one of them wraps, each unwraps what it wrapped."""

from collections.abc import Sequence

from kms.errors import CannotUnwrapError, KeyNotFoundError
from kms.provider import KeyProvider, KnowsKeks, Opens, Wrapped
from kms.secret import SecretKey

__all__ = ["RoutedProvider"]

Pair = tuple[Wrapped, bytes]


class RoutedProvider:
    """Wraps by the first provider and unwraps each key by the one whose KEK its row names.

    So a process goes on while keys are moved from one KEK to another. A KEK that none of them claims is tried with
    the first, which may have been renamed; if that does not open it, the error names the KEK and says what to do.
    """

    def __init__(self, first: KeyProvider, *formers: KeyProvider) -> None:
        """formers: asked to unwrap only. Of two that are equally sure of a KEK, the one before is asked."""
        self.first = first
        self.formers = formers

    @classmethod
    def of(cls, provider: KeyProvider, *formers: KeyProvider) -> "RoutedProvider":
        """provider, routed itself perhaps, with more formers behind those it has."""
        if isinstance(provider, RoutedProvider):
            return cls(provider.first, *provider.formers, *formers)
        return cls(provider, *formers)

    def wrap(self, key: SecretKey, context: bytes) -> Wrapped:
        """The key under the first provider's KEK, bound to context."""
        return self.first.wrap(key, context)

    def unwrap(self, wrapped: Sequence[Pair]) -> list[SecretKey]:
        """The keys, in order, by as few calls as each of the providers needs.

        Raises: as KeyProvider.unwrap; CannotUnwrapError for a KEK that none of the providers opens.
        """
        groups: dict[tuple[int, str], tuple[KeyProvider, list[int]]] = {}
        for index, (one, _) in enumerate(wrapped):
            provider = self.provider_of(one.kek)
            # One that nobody claims is asked for apart, so that its failure is told by its name.
            group = (id(provider), "") if provider is not None else (0, one.kek)
            groups.setdefault(group, (provider or self.first, []))[1].append(index)
        keys: dict[int, SecretKey] = {}
        for (_, unclaimed), (provider, indexes) in groups.items():
            pairs = [wrapped[index] for index in indexes]
            given = self._by_first(unclaimed, pairs) if unclaimed else provider.unwrap(pairs)
            keys.update(zip(indexes, given, strict=True))
        return [keys[index] for index in range(len(wrapped))]

    def provider_of(self, kek: str) -> KeyProvider | None:
        """Who is asked for keys that this KEK wrapped, or None if nobody claims it. Sends no more than opens() does."""
        sure, found = Opens.NO, None
        for provider in (self.first, *self.formers):
            claim = provider.opens(kek) if isinstance(provider, KnowsKeks) else Opens.PERHAPS
            if claim > sure:
                sure, found = claim, provider
            if sure is Opens.SURELY:
                break
        return found

    def _by_first(self, kek: str, pairs: Sequence[Pair]) -> list[SecretKey]:
        try:
            return self.first.unwrap(pairs)
        except (CannotUnwrapError, KeyNotFoundError):
            pass  # it says that the row was changed, or where to look for its own key, which is not what helps
        raise CannotUnwrapError(
            f"wrapped by {kek}, which is none of the key-encryption keys that this process was given: name it under"
            " kek_former in the policy (former_keks in a program), or move the keys back by `noisevault keys move`"
        )

    def __repr__(self) -> str:
        return f"RoutedProvider({', '.join(map(repr, (self.first, *self.formers)))})"
