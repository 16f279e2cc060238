"""`pulsarctl brokers`: which brokers there are and whether they work."""

from typing import Annotated

import typer

from pulsarctl.errors import CliError
from pulsarctl.output.render import Table
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

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

    A broker that serves but has lost data is degraded, and the check fails, until the loss is accepted.

    Example: pulsarctl brokers healthcheck
    """
    found = call.admin.brokers.healthcheck(topic_version)
    if found != "ok":
        raise CliError(f"the broker is {found}")
    call.show(found)


@app.verb("damage")
def damage(call: Call) -> None:
    """List the damaged places in the broker's data, what is lost by them, and whether the loss is accepted.

    Example: pulsarctl brokers damage
    """
    found = call.admin.brokers.damage()
    columns = ("FILE", "OFFSET", "TOPIC", "LOST", "FOUND", "ACCEPTED", "REASON")
    call.show(found, Table(columns, [[place[column.lower()] for column in columns] for place in found]))


@app.verb("accept-loss", loses_data=True)
def accept_loss(call: Call) -> None:
    """Accept that damaged data is lost: the broker is no longer degraded, and readers pass over what is gone.

    Prints what is accepted. For a directory that no broker uses: pulsarctl storage accept-loss.

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
