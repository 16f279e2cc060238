"""The policies of tiered storage: where ledgers are offloaded to, and when."""

from typing import Annotated

import typer

from pulsarctl.policies import values
from pulsarctl.policies.flags import Document
from pulsarctl.policies.policy import Policy
from pulsarctl.policies.values import DRIVERS, PRIORITIES
from pulsarctl.shell.call import Call
from pulsarctl.shell.headings import Heading
from pulsarctl.values.choice import choice, one_of
from pulsarctl.values.quantities import parse_duration, parse_seconds, parse_size


def _text(*spellings: str, help: str, metavar: str = "TEXT", words: tuple[str, ...] = ()) -> typer.models.OptionInfo:
    completion = choice(*words) if words else None
    option: typer.models.OptionInfo = typer.Option(*spellings, metavar=metavar, autocompletion=completion, help=help)
    return option


Driver = Annotated[str, _text("-d", "--driver", words=DRIVERS, help=f"Driver: {', '.join(DRIVERS)}.")]
Bucket = Annotated[str | None, _text("-b", "--bucket", metavar="BUCKET", help="Bucket for the copies.")]
Region = Annotated[str | None, _text("-r", "--region", metavar="REGION", help="Region of the bucket.")]
Endpoint = Annotated[str | None, _text("-e", "--endpoint", metavar="URL", help="Endpoint of the store.")]
Identity = Annotated[str | None, _text("-i", "--aws-id", metavar="ID", help="Access key for S3.")]
Secret = Annotated[str | None, _text("-s", "--aws-secret", metavar="SECRET", help="Secret key for S3.")]
Role = Annotated[str | None, _text("-ro", "--s3-role", metavar="ROLE", help="Role to assume for S3.")]
SessionName = Annotated[
    str | None, _text("-rsn", "--s3-role-session-name", metavar="NAME", help="Session name of that role.")
]
FilesystemUri = Annotated[
    str | None, _text("--filesystem-uri", metavar="URI", help="Directory for the driver filesystem.")
]
AfterThreshold = Annotated[
    str | None,
    _text(
        "-oat",
        "-t",
        "--offloadAfterThreshold",
        metavar="SIZE",
        help="Size of the newest ledgers that stay local; -1 disables offload.",
    ),
]
AfterTime = Annotated[
    str | None,
    _text(
        "-tt",
        "--offloadThresholdInSeconds",
        metavar="DURATION",
        help="Age at which ledgers are offloaded; -1 is never.",
    ),
]
DeletionLag = Annotated[
    str | None,
    _text(
        "-oae",
        "-dl",
        "--offloadAfterElapsed",
        metavar="DURATION",
        help="Time to keep local files after they are offloaded.",
    ),
]
ReadPriority = Annotated[
    str | None,
    _text(
        "-orp",
        "--offloadedReadPriority",
        metavar="ORDER",
        words=PRIORITIES,
        help=f"What to read while both copies exist: {' or '.join(PRIORITIES)}.",
    ),
]


def offload_policies(
    call: Call,
    *,
    driver: Driver,
    bucket: Bucket = None,
    region: Region = None,
    endpoint: Endpoint = None,
    identity: Identity = None,
    secret: Secret = None,
    role: Role = None,
    session: SessionName = None,
    uri: FilesystemUri = None,
    threshold: AfterThreshold = None,
    threshold_time: AfterTime = None,
    elapsed: DeletionLag = None,
    priority: ReadPriority = None,
) -> Document:
    """Set where and when ledgers are copied to tiered storage."""
    kind = one_of(driver, DRIVERS, "driver")
    policies: Document = {"managedLedgerOffloadDriver": kind, **_of_store(kind, bucket, region, endpoint)}
    policies |= {
        "s3ManagedLedgerOffloadCredentialId": identity,
        "s3ManagedLedgerOffloadCredentialSecret": secret,
        "s3ManagedLedgerOffloadRole": role,
        "s3ManagedLedgerOffloadRoleSessionName": session,
        "fileSystemURI": uri,
        "managedLedgerOffloadThresholdInBytes": None if threshold is None else parse_size(threshold),
        "managedLedgerOffloadThresholdInSeconds": None if threshold_time is None else parse_seconds(threshold_time),
        "managedLedgerOffloadDeletionLagInMillis": None if elapsed is None else _milliseconds(elapsed),
        "managedLedgerOffloadedReadPriority": None if priority is None else one_of(priority, PRIORITIES, "order"),
    }
    return {key: value for key, value in policies.items() if value is not None}


def _of_store(driver: str, bucket: str | None, region: str | None, endpoint: str | None) -> Document:
    prefix = {"aws-s3": "s3ManagedLedgerOffload", "google-cloud-storage": "gcsManagedLedgerOffload"}
    start = prefix.get(driver, "managedLedgerOffload")
    place = "managedLedgerOffloadServiceEndpoint" if start.startswith("gcs") else f"{start}ServiceEndpoint"
    return {f"{start}Bucket": bucket, f"{start}Region": region, place: endpoint}


def offload_threshold(
    call: Call,
    *,
    size: Annotated[
        str, typer.Option("-s", "--size", metavar="SIZE", help="Size that stays local; 0 offloads all, -1 is never.")
    ],
) -> int:
    """Offload the older ledgers of topics that are larger than a size."""
    return parse_size(size)


def offload_deletion_lag(
    call: Call,
    *,
    lag: Annotated[
        str, typer.Option("-l", "--lag", metavar="DURATION", help="Time to keep local files after they are offloaded.")
    ],
) -> int:
    """Delete the local files of offloaded ledgers after a time."""
    return _milliseconds(lag)


def _milliseconds(text: str) -> int:
    return round(parse_duration(text) * 1000)


_EXAMPLE = "-d filesystem --filesystem-uri file:///var/lib/offload -oat 10G"

OF_NAMESPACES = (
    Policy(
        Heading.OFFLOAD,
        "offload-policies",
        "offloadPolicies",
        offload_policies,
        _EXAMPLE,
        removal="removeOffloadPolicies",
        value=values.OFFLOAD,
        document="offload_policies",
    ),
    Policy(
        Heading.OFFLOAD,
        "offload-threshold",
        "offloadThreshold",
        offload_threshold,
        "-s 10G",
        method="PUT",
        clear="",
        value=values.UNLIMITED_SIZE,
    ),
    Policy(
        Heading.OFFLOAD,
        "offload-deletion-lag",
        "offloadDeletionLagMs",
        offload_deletion_lag,
        "-l 1h",
        method="PUT",
        remover="clear-offload-deletion-lag",
        value=values.UNLIMITED_MILLISECONDS,
    ),
)
OF_TOPICS = (
    Policy(Heading.OFFLOAD, "offload-policies", "offloadPolicies", offload_policies, _EXAMPLE, value=values.OFFLOAD),
)
