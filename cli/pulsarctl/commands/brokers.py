"""`pulsarctl brokers`: the brokers of a cluster, their health, and their configuration."""

from typing import Annotated

import typer

from pulsarctl.errors import CliError
from pulsarctl.output.render import Table
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("brokers", "List brokers and check their health.")


@app.verb("list", "l")
def list_brokers(
    call: Call,
    cluster: Annotated[
        str | None, typer.Argument(metavar="CLUSTER", help="Name of the cluster. Default: the cluster of the broker.")
    ] = None,
) -> None:
    """List the brokers of a cluster.

    Example: pulsarctl brokers list
    """
    call.show_names("BROKER", call.admin.brokers.list(cluster))


@app.verb("healthcheck")
def healthcheck(
    call: Call,
    topic_version: Annotated[
        str | None, typer.Option("-tv", "--topic-version", metavar="V1|V2", help="Version of the health check topic.")
    ] = None,
) -> None:
    """Check the health of the broker by publishing and reading a message.

    Prints ok or fails. A broker that lost data is degraded and fails the check until the loss is accepted.

    Example: pulsarctl brokers healthcheck
    """
    found = call.admin.brokers.healthcheck(topic_version)
    if found != "ok":
        raise CliError(f"the broker is {found}")
    call.show(found)


@app.verb("damage")
def damage(call: Call) -> None:
    """List the damage in the broker's data, with what is lost and whether the loss is accepted.

    Example: pulsarctl brokers damage
    """
    found = call.admin.brokers.damage()
    columns = ("FILE", "OFFSET", "TOPIC", "LOST", "FOUND", "ACCEPTED", "REASON")
    call.show(found, Table(columns, [[place[column.lower()] for column in columns] for place in found]))


@app.verb("accept-loss", loses_data=True)
def accept_loss(call: Call) -> None:
    """Accept the loss of damaged data.

    The broker is no longer degraded, and readers skip what is lost. Prints what is accepted. If no broker uses the
    directory, run 'pulsarctl storage accept-loss'.

    Example: pulsarctl brokers accept-loss
    """
    call.show_names("DAMAGE TO ACCEPT", call.admin.brokers.accept_loss())


@app.verb("version")
def version(call: Call) -> None:
    """Show the version of the broker.

    Example: pulsarctl brokers version
    """
    call.show(call.admin.brokers.version())


@app.verb("leader-broker")
def leader_broker(call: Call) -> None:
    """Show the leader broker of the cluster.

    Example: pulsarctl brokers leader-broker
    """
    call.show(call.admin.brokers.leader())


@app.verb("get-runtime-config")
def get_runtime_config(call: Call) -> None:
    """Show the runtime configuration of the broker.

    Example: pulsarctl brokers get-runtime-config
    """
    call.show(call.admin.brokers.runtime_configuration(), as_map=True)


@app.verb("list-dynamic-config")
def list_dynamic_config(call: Call) -> None:
    """List the settings that can change while the broker runs.

    Example: pulsarctl brokers list-dynamic-config
    """
    call.show_names("SETTING", call.admin.brokers.dynamic_configuration_names())


@app.verb("get-all-dynamic-config")
def get_all_dynamic_config(call: Call) -> None:
    """Show the settings that changed while the broker runs.

    Example: pulsarctl brokers get-all-dynamic-config
    """
    call.show(call.admin.brokers.dynamic_configuration(), as_map=True)


@app.verb("get-internal-config")
def get_internal_config(call: Call) -> None:
    """Show where the broker stores its metadata.

    Example: pulsarctl brokers get-internal-config
    """
    call.show(call.admin.brokers.internal_configuration())
