"""`pulsarctl brokers`: which brokers there are and whether they work."""

from typing import Annotated

import typer

from pulsarctl.call import Call
from pulsarctl.grammar import Noun

app = Noun("brokers", "List brokers and check their health.")


@app.verb("list", "l")
def list_brokers(
    call: Call, cluster: Annotated[str | None, typer.Argument(metavar="CLUSTER", help="Default: this one.")] = None
) -> None:
    """List the brokers of a cluster.

    Example: pulsarctl brokers list
    """
    call.show_names("BROKER", call.admin.brokers.list(cluster))


@app.verb("healthcheck")
def healthcheck(
    call: Call,
    topic_version: Annotated[
        str | None, typer.Option("-tv", "--topic-version", metavar="V1|V2", help="Of the topic that is used.")
    ] = None,
) -> None:
    """Publish and read a message inside the broker; prints ok, or fails.

    Example: pulsarctl brokers healthcheck
    """
    call.show(call.admin.brokers.healthcheck(topic_version))


@app.verb("version")
def version(call: Call) -> None:
    """Show the version of the broker.

    Example: pulsarctl brokers version
    """
    call.show(call.admin.brokers.version())


@app.verb("leader-broker")
def leader_broker(call: Call) -> None:
    """Show which broker leads the cluster.

    Example: pulsarctl brokers leader-broker
    """
    call.show(call.admin.brokers.leader())


@app.verb("get-runtime-config")
def get_runtime_config(call: Call) -> None:
    """Show the broker's whole configuration.

    Example: pulsarctl brokers get-runtime-config
    """
    call.show(call.admin.brokers.runtime_configuration(), as_map=True)


@app.verb("list-dynamic-config")
def list_dynamic_config(call: Call) -> None:
    """List the settings that can be changed while the broker runs.

    Example: pulsarctl brokers list-dynamic-config
    """
    call.show_names("SETTING", call.admin.brokers.dynamic_configuration_names())


@app.verb("get-all-dynamic-config")
def get_all_dynamic_config(call: Call) -> None:
    """Show the settings that were changed while the broker runs.

    Example: pulsarctl brokers get-all-dynamic-config
    """
    call.show(call.admin.brokers.dynamic_configuration(), as_map=True)


@app.verb("get-internal-config")
def get_internal_config(call: Call) -> None:
    """Show where the broker keeps its metadata.

    Example: pulsarctl brokers get-internal-config
    """
    call.show(call.admin.brokers.internal_configuration())
