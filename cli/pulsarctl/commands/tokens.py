"""`pulsarctl tokens`: keys and tokens for brokers with token authentication; needs no broker."""

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.errors import CliError, Conflict, UsageProblem
from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.choice import choice
from pulsarctl.values.extras import require
from pulsarctl.values.quantities import parse_duration
from pulsarctl.values.text_files import read_text

if TYPE_CHECKING:
    from broker_core.security.keys import TokenKey

app = Noun("tokens", "Create and check keys and tokens.")

SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
CURVES = {"ES256": "SECP256R1", "ES384": "SECP384R1", "ES512": "SECP521R1"}
RSA_BITS = 2048
RSA_NAMES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")

KEY_FORMS = "a file, file: URL, data: URL, or base64 text"
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
SecretKey = Annotated[
    str | None, typer.Option("-sk", "--secret-key", metavar="SECRET-KEY", help=f"Secret key: {KEY_FORMS}.")
]
Token = Annotated[str | None, typer.Argument(metavar="TOKEN", help="The token. Default: $TOKEN.")]
TokenFile = Annotated[Path | None, typer.Option("-f", "--token-file", metavar="FILE", help="File with the token.")]
Stdin = Annotated[bool, typer.Option("-i", "--stdin", help="Read the token from stdin.")]


@app.verb("create-secret-key")
def create_secret_key(
    call: Call,
    algorithm: Annotated[
        str,
        typer.Option(
            "-a",
            "--signature-algorithm",
            metavar="NAME",
            autocompletion=choice(*SECRET_BYTES),
            help="HS256, HS384, or HS512.",
        ),
    ] = "HS256",
    output_file: Annotated[
        Path | None, typer.Option("--output-file", metavar="FILE", help="File for the key. Default: stdout.")
    ] = None,
    base64_text: Annotated[bool, typer.Option("-b", "--base64", help="Write the key as base64 text.")] = False,
    force: Force = False,
) -> None:
    """Create a secret key, which signs and checks tokens.

    Only you can read the file. An existing file is not overwritten without --force.

    Example: pulsarctl tokens create-secret-key --output-file secret.key
    """
    import base64
    import secrets

    if algorithm not in SECRET_BYTES:
        raise UsageProblem(
            f"the algorithm {algorithm} does not use secret keys", hint=f"use one of {', '.join(SECRET_BYTES)}"
        )
    _refuse_file_as_format(call)
    key = secrets.token_bytes(SECRET_BYTES[algorithm])
    content = base64.b64encode(key) if base64_text else key
    if output_file is None:
        render.data(content)
    else:
        _write_private(output_file, content, force=force)


def _refuse_file_as_format(call: Call) -> None:
    """In pulsar-admin, --output names the file of a key; here it would be ignored, and the key would be printed."""
    try:
        call.output  # noqa: B018  # resolves the settings
    except UsageProblem as error:
        if (call.obj or {}).get("output"):
            error.hint = "name the file of the key with --output-file FILE"
        raise


@app.verb("create-key-pair")
def create_key_pair(
    call: Call,
    private_file: Annotated[
        Path, typer.Option("--output-private-key", metavar="FILE", help="File for the private key.")
    ],
    public_file: Annotated[Path, typer.Option("--output-public-key", metavar="FILE", help="File for the public key.")],
    algorithm: Annotated[
        str, typer.Option("-a", "--signature-algorithm", metavar="NAME", help="RS256 to PS512, or ES256 to ES512.")
    ] = "RS256",
    force: Force = False,
) -> None:
    """Create a private key, which signs tokens, and its public key, which checks them.

    The files have Pulsar's form (DER). Only you can read them. Existing files are not overwritten without --force.

    Example: pulsarctl tokens create-key-pair --output-private-key private.key --output-public-key public.key
    """
    _need_libraries()
    if algorithm not in (*RSA_NAMES, *CURVES):
        known = ", ".join((*RSA_NAMES, *CURVES))
        raise UsageProblem(f"the algorithm {algorithm} does not use key pairs", hint=f"use one of {known}")
    private, public = _key_pair(algorithm)
    if not force:
        for file in (private_file, public_file):  # both before either is written
            _refuse_existing(file)
    _write_private(private_file, private, force=force)
    _write_private(public_file, public, force=force)


def _key_pair(algorithm: str) -> tuple[bytes, bytes]:
    """The private key and the public key, both in DER form."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    key: Any
    if algorithm in CURVES:
        key = ec.generate_private_key(getattr(ec, CURVES[algorithm])())
    else:
        key = rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    der = serialization.Encoding.DER
    private = key.private_bytes(der, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private, key.public_key().public_bytes(der, serialization.PublicFormat.SubjectPublicKeyInfo)


@app.verb("create")
def create(
    call: Call,
    subject: Annotated[str, typer.Option("-s", "--subject", metavar="ROLE", help="Role of the token.")],
    expiry_time: Annotated[
        str | None,
        typer.Option("-e", "--expiry-time", metavar="DURATION", help="Time to live, such as 30s, 12h, or 1y."),
    ] = None,
    secret_key: SecretKey = None,
    private_key: Annotated[
        str | None, typer.Option("-pk", "--private-key", metavar="PRIVATE-KEY", help=f"Private key: {KEY_FORMS}.")
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "-a",
            "--signature-algorithm",
            metavar="NAME",
            help="Signature algorithm. Default: the one that fits the key best.",
        ),
    ] = None,
) -> None:
    """Create a token for a role.

    Anyone who has the token has the role, so protect it like a password.

    Example: pulsarctl tokens create --secret-key file:///path/secret.key --subject orders --expiry-time 30d
    """
    _need_libraries()
    import jwt

    if (secret_key is None) == (private_key is None):
        raise UsageProblem("a token needs one key", hint="use either --secret-key or --private-key")
    key = _signing_key(secret_key, private_key)
    chosen = algorithm or (key.algorithms[-1] if secret_key is not None else key.algorithms[0])
    if chosen not in key.algorithms:
        raise UsageProblem(f"the key does not fit {chosen}", hint=f"use one of {', '.join(key.algorithms)}")
    claims: dict[str, Any] = {"sub": subject}
    if expiry_time is not None:
        claims["exp"] = int(time.time() + parse_duration(expiry_time))
    call.show(jwt.encode(claims, key.key, chosen))


@app.verb("show")
def show(call: Call, token: Token = None, token_file: TokenFile = None, stdin: Stdin = False) -> None:
    """Show the header and the claims of a token, without checking its signature.

    Example: pulsarctl tokens show -f orders.token
    """
    _need_libraries()
    import jwt

    text = _token(token, token_file, stdin=stdin)
    try:
        decoded = jwt.decode_complete(text, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError) as error:
        raise CliError(f"cannot read the token: {error}") from None
    render.line(json.dumps(decoded["header"], separators=(",", ":")))
    render.line("---")
    render.line(json.dumps(decoded["payload"], separators=(",", ":")))


@app.verb("validate")
def validate(
    call: Call,
    token: Token = None,
    token_file: TokenFile = None,
    stdin: Stdin = False,
    secret_key: SecretKey = None,
    public_key: Annotated[
        str | None, typer.Option("-pk", "--public-key", metavar="KEY", help=f"Public key: {KEY_FORMS}.")
    ] = None,
) -> None:
    """Check the signature and the times of a token, as a broker does, and show its claims.

    Example: pulsarctl tokens validate --secret-key file:///path/secret.key -f orders.token
    """
    _need_libraries()
    from broker_core.errors import BrokerError
    from broker_core.security import keys
    from broker_core.security.claims import ClaimRules
    from broker_core.security.token import verified_claims

    if (secret_key is None) == (public_key is None):
        raise UsageProblem("a token is checked with one key", hint="use either --secret-key or --public-key")
    text = _token(token, token_file, stdin=stdin)
    try:
        key = (
            keys.secret_key("--secret-key", secret_key)
            if secret_key is not None
            else keys.public_key("--public-key", str(public_key))
        )
        claims = verified_claims(text, key)
        ClaimRules().identity(claims, int(time.time() * 1000))
    except BrokerError as error:
        raise CliError(f"cannot accept the token: {error}") from None
    call.show(claims, as_map=True)


def _signing_key(secret_key: str | None, private_key: str | None) -> "TokenKey":
    from broker_core.errors import BrokerError
    from broker_core.security import keys

    try:
        if secret_key is not None:
            return keys.secret_key("--secret-key", secret_key)
        return keys.private_key("--private-key", str(private_key))
    except BrokerError as error:
        raise UsageProblem(str(error)) from None


def _token(token: str | None, token_file: Path | None, *, stdin: bool) -> str:
    if token is not None:
        return token.strip()
    if token_file is not None:
        path = Path(str(token_file).removeprefix("file:").removeprefix("//"))
        return read_text(path).strip()
    if stdin:
        return typer.get_text_stream("stdin").read().strip()
    if os.environ.get("TOKEN"):
        return os.environ["TOKEN"].strip()
    raise UsageProblem("there is no token", hint="pass it as an argument, by --token-file or --stdin, or in $TOKEN")


def _need_libraries() -> None:
    require("work with tokens", "cryptography", "jwt")


def _refuse_existing(path: Path) -> None:
    if os.path.lexists(path):
        reason = f"{path} exists, and a new key invalidates the tokens of the old one"
        raise Conflict(f"cannot write the key: {reason}", hint="use --force to overwrite it")


def _write_private(path: Path, content: bytes, *, force: bool) -> None:
    """Readable by its owner only, from the start. Without `force`, what another process has just made is kept."""
    try:
        if force:
            path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        if not force:
            _refuse_existing(path)
        raise CliError(f"cannot write {path}: {error.strerror}") from None
