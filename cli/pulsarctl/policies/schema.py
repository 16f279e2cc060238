"""The policies that say which schemas a topic accepts."""

from typing import Annotated

import typer

from pulsarctl.policies import values
from pulsarctl.policies.flags import Disable, Enable, switch
from pulsarctl.policies.policy import Applied, Policy
from pulsarctl.policies.values import STRATEGIES
from pulsarctl.shell.call import Call
from pulsarctl.shell.headings import Heading
from pulsarctl.values.choice import choice, one_of

AUTOUPDATE_STRATEGIES = {"Full": "Full", "Backward": "Backward", "Forward": "Forward", "None": "AlwaysCompatible"}


def compatibility_strategy(
    call: Call,
    *,
    strategy: Annotated[
        str,
        typer.Option(
            "-c",
            "--compatibility",
            "-s",
            "--strategy",
            metavar="STRATEGY",
            autocompletion=choice(*STRATEGIES),
            help=f"One of {', '.join(STRATEGIES)}.",
        ),
    ],
) -> str:
    """Set which new schema versions are compatible and accepted."""
    return one_of(strategy, STRATEGIES, "strategy")


def autoupdate_strategy(
    call: Call,
    *,
    compatibility: Annotated[
        str,
        typer.Option(
            "-c",
            "--compatibility",
            metavar="STRATEGY",
            autocompletion=choice("Full", "Backward", "Forward", "None"),
            help="Full, Backward, Forward, or None.",
        ),
    ] = "Full",
    disabled: Annotated[bool, typer.Option("-d", "--disabled", help="Accept no new versions.")] = False,
) -> str:
    """Set the strategy in its older form, which applies while no compatibility strategy is set."""
    strategy = one_of(compatibility, tuple(AUTOUPDATE_STRATEGIES), "strategy")
    return "AutoUpdateDisabled" if disabled else AUTOUPDATE_STRATEGIES[strategy]


def allow_auto_update(call: Call, *, enable: Enable = False, disable: Disable = False) -> bool:
    """Let producers register new schema versions, or allow that through the admin API only."""
    return switch(enable, disable)


def validation_enforced(call: Call, *, enable: Enable = False, disable: Disable = False) -> bool:
    """Refuse producers without a schema on topics that have one."""
    return switch(enable, disable)


VALIDATION_ENFORCED = Policy(
    Heading.SCHEMA,
    "schema-validation-enforce",
    "schemaValidationEnforced",
    validation_enforced,
    "--enable",
    also=("schema-validation-enforced",),
    clear="",
    reading={"applied": Applied},
    changing={},
    value=values.SWITCH,
    document="schema_validation_enforced",
    unset=False,
)

OF_NAMESPACES = (
    Policy(
        Heading.SCHEMA,
        "schema-compatibility-strategy",
        "schemaCompatibilityStrategy",
        compatibility_strategy,
        "-c BACKWARD",
        method="PUT",
        clear="",
        value=values.STRATEGY,
        document="schema_compatibility_strategy",
        unset="UNDEFINED",
    ),
    Policy(
        Heading.SCHEMA,
        "schema-autoupdate-strategy",
        "schemaAutoUpdateCompatibilityStrategy",
        autoupdate_strategy,
        "-c Backward",
        method="PUT",
        clear="",
        value=values.AUTO_UPDATE_STRATEGY,
        document="schema_auto_update_compatibility_strategy",
    ),
    Policy(
        Heading.SCHEMA,
        "is-allow-auto-update-schema",
        "isAllowAutoUpdateSchema",
        allow_auto_update,
        "--disable",
        clear="",
        value=values.SWITCH,
        document="is_allow_auto_update_schema",
        unset=True,
    ),
    VALIDATION_ENFORCED,
)
OF_TOPICS = (
    Policy(
        Heading.SCHEMA,
        "schema-compatibility-strategy",
        "schemaCompatibilityStrategy",
        compatibility_strategy,
        "-s FORWARD",
        method="PUT",
        reading={"applied": Applied},
        changing={},
        value=values.STRATEGY,
    ),
    VALIDATION_ENFORCED,
)
