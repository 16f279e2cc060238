"""`pulsarctl brokers`: the brokers of a cluster, their health, and their configuration."""

from typing import Annotated

import typer

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.output.render import Table
from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, In, Request, Shown
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.choice import choice
from pulsarctl.values.names import segment

app = Noun("brokers", "List brokers, check their health, and change their configuration.")


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
        str | None,
        typer.Option(
            "-tv",
            "--topic-version",
            metavar="V1|V2",
            autocompletion=choice("V1", "V2"),
            help="Version of the health check topic.",
        ),
    ] = None,
) -> None:
    """Check the health of the broker by publishing and reading a message.

    Prints ok or fails. A broker that lost data is degraded and fails the check until the loss is accepted.

    Example: pulsarctl brokers healthcheck
    """
    health = call.admin.brokers.healthcheck(topic_version.upper() if topic_version else None)
    if health != "ok":
        raise CliError(f"the broker is {health}")
    call.show(health)


@app.verb("damage")
def damage(call: Call) -> None:
    """List the damage in the broker's data, with what is lost and whether the loss is accepted.

    Example: pulsarctl brokers damage
    """
    places = call.admin.brokers.damage()
    columns = ("FILE", "OFFSET", "TOPIC", "LOST", "FOUND", "ACCEPTED", "REASON")
    call.show(places, Table(columns, [[place[column.lower()] for column in columns] for place in places]))


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


@app.verb("namespaces", "owned-namespaces")
def owned_namespaces(
    call: Call,
    cluster: Annotated[
        str | None, typer.Argument(metavar="CLUSTER", help="Name of the cluster. Default: the cluster of the broker.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("-u", "--url", metavar="BROKER", help="Address of the broker, as HOST:PORT.")
    ] = None,
) -> None:
    """Show the bundles of namespaces that a broker serves.

    Example: pulsarctl brokers namespaces standalone --url localhost:8080
    """
    if url is None:
        raise UsageProblem("no broker given", hint="use --url HOST:PORT; 'pulsarctl brokers list' shows the brokers")
    own = cluster or str(call.admin.brokers.runtime_configuration().get("clusterName"))
    call.show(call.admin.http.get(f"/admin/v2/brokers/{segment(own)}/{segment(url)}/ownedNamespaces"), as_map=True)


@app.verb("update-dynamic-config")
def update_dynamic_config(
    call: Call,
    name: Annotated[str | None, typer.Argument(metavar="SETTING", help="Name, if not given with -c.")] = None,
    text: Annotated[str | None, typer.Argument(metavar="VALUE", help="Value, if not given with -v.")] = None,
    config: Annotated[
        str | None, typer.Option("-c", "--config", metavar="SETTING", help="Name of the setting.")
    ] = None,
    value: Annotated[str | None, typer.Option("-v", "--value", metavar="VALUE", help="New value.")] = None,
) -> None:
    """Change a setting of all brokers while they run.

    Example: pulsarctl brokers update-dynamic-config -c brokerDeduplicationEnabled -v true
    """
    setting, new = config or name, text if value is None else value
    if not setting or new is None:
        raise UsageProblem("specify a setting and a value", hint="use -c SETTING -v VALUE")
    call.admin.http.post(f"/admin/v2/brokers/configuration/{segment(setting)}/{segment(new)}")


install_requests(
    app,
    (
        Request(
            "delete-dynamic-config",
            "DELETE",
            "brokers/configuration/{config}",
            "Remove a dynamic setting, so that the configured value applies again.",
            "-c brokerDeduplicationEnabled",
            (Field("config", "Name of the setting.", ("-c", "--config"), "SETTING"),),
            question="Delete the dynamic value of {config}?",
        ),
        Request(
            "backlog-quota-check",
            "GET",
            "brokers/backlog-quota-check",
            "Check all backlog quotas now.",
            "",
            shown=Shown.NOTHING,
        ),
        Request(
            "shutdown",
            "POST",
            "brokers/shutdown",
            "Unload the topics of the broker, and stop it.",
            "--yes",
            (
                Field(
                    "rate",
                    "Maximum number of unloads per second; 0 means no limit.",
                    ("-m", "--max-concurrent-unload-per-sec"),
                    "N",
                    In.QUERY,
                    int,
                    0,
                    "maxConcurrentUnloadPerSec",
                ),
                Field(
                    "forced",
                    "Close topics without waiting for their clients.",
                    ("-f", "--forced-terminate-topic"),
                    "",
                    In.QUERY,
                    bool,
                    False,
                    "forcedTerminateTopic",
                ),
            ),
            question="Stop the broker?",
        ),
    ),
)
