"""URIs of stores for offloaded ledgers, as the settings that Pulsar has for them. Pure."""

from urllib.parse import SplitResult, parse_qsl, urlsplit

from pulsarctl.errors import UsageProblem

_HINT = (
    "use file:///DIRECTORY, s3://BUCKET/PREFIX?endpoint_override=HOST:PORT&scheme=http&region=R, gs://BUCKET/PREFIX, or"
    " az://CONTAINER/PREFIX"
)


def offload_settings(uri: str) -> dict[str, str]:
    """Members of OffloadPolicies, such as the driver and the bucket. Raises `UsageProblem`."""
    parts = urlsplit(uri)
    query = dict(parse_qsl(parts.query))
    if parts.username or parts.password:
        raise UsageProblem("the URI of a store cannot hold credentials", hint="set them in the broker's environment")
    if parts.scheme in ("", "file"):
        return _directory(uri, parts)
    bucket = f"{parts.netloc}{parts.path}".strip("/") if parts.netloc else ""
    endpoint = query.pop("endpoint_override", "")
    if endpoint and "://" not in endpoint:
        endpoint = f"{query.pop('scheme', 'https')}://{endpoint}"
    region = query.pop("region", "")
    if not bucket or parts.fragment or query.keys() - {"scheme"} or parts.scheme not in ("s3", "gs", "az"):
        raise UsageProblem(f"'{uri}' is not the URI of a store", hint=_HINT)
    if parts.scheme == "gs":
        members = {
            "managedLedgerOffloadDriver": "google-cloud-storage",
            "gcsManagedLedgerOffloadBucket": bucket,
            "gcsManagedLedgerOffloadRegion": region,
            "managedLedgerOffloadServiceEndpoint": endpoint,
        }
    elif parts.scheme == "az":
        members = {
            "managedLedgerOffloadDriver": "azureblob",
            "managedLedgerOffloadBucket": bucket,
            "managedLedgerOffloadServiceEndpoint": endpoint,
        }
    else:
        members = {
            "managedLedgerOffloadDriver": "aws-s3",
            "s3ManagedLedgerOffloadBucket": bucket,
            "s3ManagedLedgerOffloadRegion": region,
            "s3ManagedLedgerOffloadServiceEndpoint": endpoint,
        }
    return {key: value for key, value in members.items() if value}


def _directory(uri: str, parts: SplitResult) -> dict[str, str]:
    """`file://var/tier` names the host var, and not the directory var/tier."""
    if not parts.path.startswith("/") or parts.query or parts.fragment:
        raise UsageProblem(f"'{uri}' is not the URI of a store", hint=_HINT)
    if parts.netloc not in ("", "localhost"):
        raise UsageProblem(
            f"cannot use '{uri}' as a store: it names the host {parts.netloc}",
            hint=f"use file:///{parts.netloc}{parts.path}",
        )
    return {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": f"file://{parts.path}"}


def with_credentials(settings: dict[str, str], access_key: str, secret_key: str) -> dict[str, str]:
    """The settings with which a store opens for this credential. Raises `UsageProblem` if it takes none."""
    if settings["managedLedgerOffloadDriver"] != "aws-s3":
        raise UsageProblem("only S3 takes an access key", hint="use the credentials of the environment")
    return {
        **settings,
        "s3ManagedLedgerOffloadCredentialId": access_key,
        "s3ManagedLedgerOffloadCredentialSecret": secret_key,
    }
