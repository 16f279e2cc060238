"""Client certificates whose names try to be the role of another: only one common name, as it is, is a role."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from broker_core.errors import AuthenticationFailed
from broker_core.security.provider import Credentials
from broker_core.security.tls import TlsProvider
from tests.support.authority import Authority
from tests.support.secured import setup


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("names"))


def issued(authority: Authority, name: str, host: str = "localhost") -> bytes:
    """A certificate with this common name, in DER form."""
    certificate, _ = authority.issue("client", name, host=host)
    return x509.load_pem_x509_certificate(certificate.read_bytes()).public_bytes(serialization.Encoding.DER)


async def role_of(certificate: bytes) -> str:
    """Empty if the certificate names none."""
    try:
        return (await TlsProvider(setup()).authenticate(Credentials(certificate=certificate))).role
    except AuthenticationFailed:
        return ""


@pytest.mark.parametrize(
    "name",
    ["admin\0.evil", "\0admin", "admin\n", " admin", "admin ", "admin\t", "admin\x7f", "admin\u2028", "admin\r\nx"],
    ids=ascii,
)
async def test_a_name_that_another_program_may_read_as_admin_is_no_role(authority: Authority, name: str) -> None:
    assert await role_of(issued(authority, name)) == ""


@pytest.mark.parametrize("name", ["ADMIN", "admin,CN=other", "CN=admin", "\u0430dmin", "admin\u200d", "*", "ad*"])
async def test_a_name_that_only_looks_like_admin_is_another_role(authority: Authority, name: str) -> None:
    assert await role_of(issued(authority, name)) == name


async def test_an_alternative_name_is_no_role(authority: Authority) -> None:
    assert await role_of(issued(authority, "visitor", host="admin")) == "visitor"


@pytest.mark.parametrize("content", [b"x", b"\x30\x82\xff\xff" + b"\0" * 100, b"\0" * 100_000])
async def test_what_is_no_certificate_is_no_role(content: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match="cannot be read"):
        await TlsProvider(setup()).authenticate(Credentials(certificate=content))
