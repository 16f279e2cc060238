"""The policies about schemas, as verbs of `namespaces`, `topics` and `topicPolicies`, named as in pulsar-admin."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import Namespace, Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.policy_text import policy_text

STRATEGIES = (
    "UNDEFINED",
    "ALWAYS_INCOMPATIBLE",
    "ALWAYS_COMPATIBLE",
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
)
OLDER_STRATEGIES = {"full": "Full", "backward": "Backward", "forward": "Forward", "none": "AlwaysCompatible"}
STRATEGY, OLDER = "schemaCompatibilityStrategy", "schemaAutoUpdateCompatibilityStrategy"
ENFORCED, AUTO_UPDATE = "schemaValidationEnforced", "isAllowAutoUpdateSchema"

Strategy = Annotated[
    str, typer.Option("-c", "--compatibility", "-s", "--strategy", metavar="STRATEGY", help=", ".join(STRATEGIES))
]
Applied = Annotated[
    bool, typer.Option("-ap", "--applied", "-a", help="The value in force, inherited from namespace and broker.")
]
Enable = Annotated[bool, typer.Option("-e", "--enable", help="Switch it on.")]
Disable = Annotated[bool, typer.Option("-d", "--disable", help="Switch it off.")]


def _strategy(text: str) -> str:
    name = text.upper()
    if name not in STRATEGIES:
        raise UsageProblem(f"there is no strategy '{text}'", hint=f"one of {', '.join(STRATEGIES)}")
    return name


def _switch(enable: bool, disable: bool) -> bool:
    if enable == disable:
        raise UsageProblem("on or off?", hint="say --enable or --disable")
    return enable


def install_schema_policies_of_namespaces(noun: Noun) -> None:
    """Adds the verbs of a namespace's schema policies."""
    _install_strategy(noun)
    _install_older_strategy(noun)
    _install_switches(noun)


def _install_strategy(noun: Noun) -> None:
    @noun.verb("get-schema-compatibility-strategy")
    def get_strategy(call: Call, namespace: Namespace) -> None:
        """Show which new versions of a schema are accepted; UNDEFINED leaves it to the broker."""
        call.show(call.admin.namespaces.policy(namespace, STRATEGY))

    @noun.verb("set-schema-compatibility-strategy")
    def set_strategy(call: Call, namespace: Namespace, compatibility: Strategy) -> None:
        """Say which new versions of a schema are accepted.

        Example: pulsarctl namespaces set-schema-compatibility-strategy shop/orders -c BACKWARD
        """
        call.admin.namespaces.set_policy(namespace, STRATEGY, _strategy(compatibility), method="PUT")
        call.tell(f"schema-compatibility-strategy of {namespace}: {_strategy(compatibility)}")


def _install_older_strategy(noun: Noun) -> None:
    @noun.verb("get-schema-autoupdate-strategy")
    def get_older_strategy(call: Call, namespace: Namespace) -> None:
        """Show the older form of the strategy, which counts while the newer is not set."""
        call.show(call.admin.namespaces.policy(namespace, OLDER))

    @noun.verb("set-schema-autoupdate-strategy")
    def set_older_strategy(
        call: Call,
        namespace: Namespace,
        compatibility: Annotated[
            str | None,
            typer.Option("-c", "--compatibility", metavar="STRATEGY", help="Full, Backward, Forward or None."),
        ] = None,
        disabled: Annotated[bool, typer.Option("-d", "--disabled", help="Accept no new version.")] = False,
    ) -> None:
        """Set the older form of the strategy.

        Example: pulsarctl namespaces set-schema-autoupdate-strategy shop/orders -c Backward
        """
        name = OLDER_STRATEGIES.get((compatibility or "full").lower())
        if name is None:
            raise UsageProblem(f"there is no strategy '{compatibility}'", hint="Full, Backward, Forward or None")
        value = "AutoUpdateDisabled" if disabled else name
        call.admin.namespaces.set_policy(namespace, OLDER, value, method="PUT")
        call.tell(f"schema-autoupdate-strategy of {namespace}: {value}")


def _install_switches(noun: Noun) -> None:
    @noun.verb("get-is-allow-auto-update-schema")
    def get_auto_update(call: Call, namespace: Namespace) -> None:
        """Show whether producers may bring new versions of a schema."""
        call.show(call.admin.namespaces.policy(namespace, AUTO_UPDATE))

    @noun.verb("set-is-allow-auto-update-schema")
    def set_auto_update(call: Call, namespace: Namespace, enable: Enable = False, disable: Disable = False) -> None:
        """Let producers bring new versions of a schema, or only the admin API.

        Example: pulsarctl namespaces set-is-allow-auto-update-schema shop/orders --disable
        """
        call.admin.namespaces.set_policy(namespace, AUTO_UPDATE, _switch(enable, disable))
        call.tell(f"is-allow-auto-update-schema of {namespace}: {policy_text(AUTO_UPDATE, enable)}")

    @noun.verb("get-schema-validation-enforce", "get-schema-validation-enforced")
    def get_enforced(call: Call, namespace: Namespace, applied: Applied = False) -> None:
        """Show whether a topic with a schema refuses producers without one."""
        call.show(call.admin.namespaces.policy(namespace, ENFORCED, applied=applied))

    @noun.verb("set-schema-validation-enforce", "set-schema-validation-enforced")
    def set_enforced(call: Call, namespace: Namespace, enable: Enable = False, disable: Disable = False) -> None:
        """Refuse producers without a schema on topics that have one.

        Example: pulsarctl namespaces set-schema-validation-enforce shop/orders --enable
        """
        call.admin.namespaces.set_policy(namespace, ENFORCED, _switch(enable, disable))
        call.tell(f"schema-validation-enforce of {namespace}: {policy_text(ENFORCED, enable)}")


def install_schema_policies_of_topics(noun: Noun) -> None:
    """Adds the verbs of a topic's schema policies."""

    @noun.verb("get-schema-compatibility-strategy")
    def get_strategy(call: Call, topic: Topic, applied: Applied = False) -> None:
        """Show which new versions of the schema are accepted; null when the namespace decides."""
        call.show(call.admin.topics.policy(topic, STRATEGY, applied=applied))

    @noun.verb("set-schema-compatibility-strategy")
    def set_strategy(call: Call, topic: Topic, strategy: Strategy) -> None:
        """Say which new versions of the schema are accepted.

        Example: pulsarctl topics set-schema-compatibility-strategy orders -s FORWARD
        """
        call.admin.topics.set_policy(topic, STRATEGY, _strategy(strategy), method="PUT")
        call.tell(f"schema-compatibility-strategy of {topic}: {_strategy(strategy)}")

    @noun.verb("remove-schema-compatibility-strategy")
    def remove_strategy(call: Call, topic: Topic) -> None:
        """Leave it to the namespace again."""
        call.admin.topics.remove_policy(topic, STRATEGY)

    @noun.verb("get-schema-validation-enforce", "get-schema-validation-enforced")
    def get_enforced(call: Call, topic: Topic, applied: Applied = False) -> None:
        """Show whether the topic refuses producers without a schema once it has one."""
        call.show(call.admin.topics.policy(topic, ENFORCED, applied=applied))

    @noun.verb("set-schema-validation-enforce", "set-schema-validation-enforced")
    def set_enforced(call: Call, topic: Topic, enable: Enable = False, disable: Disable = False) -> None:
        """Refuse producers without a schema once the topic has one.

        Example: pulsarctl topics set-schema-validation-enforce orders --enable
        """
        call.admin.topics.set_policy(topic, ENFORCED, _switch(enable, disable))
        call.tell(f"schema-validation-enforce of {topic}: {policy_text(ENFORCED, enable)}")
