"""The cluster's own certificates: clients that hand over a token want to know to whom."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LASTS = timedelta(days=3650)
_FILES = ("ca.crt", "server.crt", "server.key")


def certificates(folder: Path) -> tuple[str, ssl.SSLContext]:
    """The authority in PEM, and what a server at 127.0.0.1 needs; made at the first start and kept in the folder."""
    if not all((folder / name).exists() for name in _FILES):
        _make(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    return (folder / "ca.crt").read_text(encoding="ascii"), context


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    master, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = _name("sandbox authority")
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    authority = (
        _dated(root, root, master.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(master.public_key()), critical=False)
        .sign(master, hashes.SHA256())
    )
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")])
    server = (
        _dated(_name("sandbox cluster"), root, key.public_key())
        .add_extension(names, critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(master.public_key()), critical=False)
        .sign(master, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for name, content in (("ca.crt", _pem(authority)), ("server.crt", _pem(server)), ("server.key", secret)):
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)


def _dated(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LASTS)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
