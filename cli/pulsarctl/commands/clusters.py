"""`pulsarctl clusters`: the clusters of a Pulsar instance."""

from typing import Annotated, Any

import typer

from pulsarctl.requests.fields import CLUSTER, document, names, option, switch
from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.arguments import Yes
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("clusters", "Create, list, and delete clusters, and manage their peers and failure domains.")


@app.verb("list", "l")
def list_clusters(
    call: Call,
    current: Annotated[bool, typer.Option("-c", "--current", help="Mark the cluster of the broker.")] = False,
) -> None:
    """List the clusters.

    Example: pulsarctl clusters list
    """
    clusters = call.admin.clusters.list()
    if current:
        own = call.admin.brokers.runtime_configuration().get("clusterName")
        clusters = [f"{name}(*)" if name == own else name for name in clusters]
    call.show_names("CLUSTER", clusters)


@app.verb("get", "g")
def get_cluster(
    call: Call, cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of the cluster.")]
) -> None:
    """Show the addresses of a cluster.

    Example: pulsarctl clusters get standalone
    """
    call.show(call.admin.clusters.get(cluster))


STORE_TYPES = ("JKS", "PKCS12")  # of Java
URLS = (
    option("url", "serviceUrl", "URL", "URL of the admin API."),
    option("url_secure", "serviceUrlTls", "URL", "URL of the admin API with TLS.", "--url-secure", "--url-tls"),
    option("broker_url", "brokerServiceUrl", "URL", "URL of the brokers."),
    option(
        "broker_url_secure",
        "brokerServiceUrlTls",
        "URL",
        "URL of the brokers with TLS.",
        "--broker-url-secure",
        "--broker-url-tls",
    ),
    option("proxy_url", "proxyServiceUrl", "URL", "URL of the proxy in front of the brokers."),
    option("proxy_protocol", "proxyProtocol", "PROTOCOL", "Protocol of the proxy: SNI."),
    option("auth_plugin", "authenticationPlugin", "CLASS", "Authentication plugin of the other clusters' brokers."),
    option("auth_parameters", "authenticationParameters", "PARAMS", "Parameters of the authentication plugin."),
    option("listener_name", "listenerName", "NAME", "Advertised listener through which to connect."),
    names("peers", "Clusters that clients may be redirected to.", "-p", "--peer-cluster", place=In.BODY, default=None),
)
TLS = (
    switch("tls_enable", "brokerClientTlsEnabled", "Use TLS to connect to the cluster."),
    switch("tls_insecure", "tlsAllowInsecureConnection", "Accept any server certificate.", "--tls-allow-insecure"),
    switch(
        "tls_keystore",
        "brokerClientTlsEnabledWithKeyStore",
        "Use Java key stores instead of PEM files.",
        "--tls-enable-keystore",
    ),
    option(
        "trust_type",
        "brokerClientTlsTrustStoreType",
        "TYPE",
        "Type of the trust store.",
        "--tls-trust-store-type",
        words=STORE_TYPES,
    ),
    option("trust_store", "brokerClientTlsTrustStore", "FILE", "File of the trust store.", "--tls-trust-store"),
    option(
        "trust_pwd",
        "brokerClientTlsTrustStorePassword",
        "PASSWORD",
        "Password of the trust store.",
        "--tls-trust-store-pwd",
    ),
    option(
        "key_type",
        "brokerClientTlsKeyStoreType",
        "TYPE",
        "Type of the key store.",
        "--tls-key-store-type",
        words=STORE_TYPES,
    ),
    option("key_store", "brokerClientTlsKeyStore", "FILE", "File of the key store.", "--tls-key-store"),
    option(
        "key_pwd", "brokerClientTlsKeyStorePassword", "PASSWORD", "Password of the key store.", "--tls-key-store-pwd"
    ),
    option(
        "trust_certs",
        "brokerClientTrustCertsFilePath",
        "FILE",
        "File of trusted certificates (PEM).",
        "--tls-trust-certs-filepath",
    ),
    option(
        "key_file", "brokerClientKeyFilePath", "FILE", "File of the client's private key (PEM).", "--tls-key-filepath"
    ),
    option(
        "certs_file",
        "brokerClientCertificateFilePath",
        "FILE",
        "File of the client certificate (PEM).",
        "--tls-certs-filepath",
    ),
    option(
        "ssl_factory",
        "brokerClientSslFactoryPlugin",
        "CLASS",
        "Class that creates TLS contexts.",
        "--tls-factory-plugin",
    ),
    option(
        "ssl_parameters",
        "brokerClientSslFactoryPluginParams",
        "PARAMS",
        "Parameters of the class of --tls-factory-plugin.",
        "--tls-factory-plugin-params",
    ),
)
FILE = Field(
    "file",
    "Read the settings from a YAML or JSON file.",
    ("--cluster-config-file",),
    "FILE",
    In.NOWHERE,
    default=None,
)


def cluster_data(values: Values) -> dict[str, Any]:
    """The members of the file and, with precedence, those of the options."""
    options = {field.key or field.name: field.value(values) for field in (*URLS, *TLS)}
    options["peerClusterNames"] = options.pop("peers") or None
    members = document(values["file"]) if values["file"] else {}
    return members | {
        key: value for key, value in options.items() if value is not None and (value or key not in members)
    }


DOMAIN = Field("domain", "Name of the failure domain.", ("--domain-name",), "NAME")
DOMAINS = "clusters/{cluster}/failureDomains"
BROKERS = names("brokers", "Brokers of the domain.", "--broker-list", "-b", "--brokers", place=In.BODY, default=None)
_CLUSTER = "clusters/{cluster}"

install_requests(
    app,
    (
        Request(
            "create",
            "PUT",
            _CLUSTER,
            "Create the record of a cluster.",
            "west --url http://west:8080 --broker-url pulsar://west:6650",
            (CLUSTER, *URLS, *TLS, FILE),
            also=("add",),
            body=cluster_data,
        ),
        Request(
            "update",
            "POST",
            _CLUSTER,
            "Replace the recorded addresses of a cluster.",
            "west --url http://west:8080 --broker-url pulsar://west:6650",
            (CLUSTER, *URLS, *TLS, FILE),
            body=cluster_data,
        ),
        Request(
            "get-peer-clusters",
            "GET",
            f"{_CLUSTER}/peers",
            "List the peer clusters of a cluster.",
            "west",
            (CLUSTER,),
            Shown.NAMES,
            also=("gpc",),
            column="CLUSTER",
        ),
        Request(
            "update-peer-clusters",
            "POST",
            f"{_CLUSTER}/peers",
            "Set the peer clusters of a cluster.",
            "west --peer-clusters standalone",
            (CLUSTER, names("peers", "Comma-separated list of clusters.", "--peer-clusters", "-p", "--peer-cluster")),
            also=("upc",),
        ),
        Request(
            "get-cluster-migration",
            "GET",
            f"{_CLUSTER}/migrate",
            "Show whether a cluster has moved, and where to.",
            "west",
            (CLUSTER,),
            Shown.VALUE,
        ),
        Request(
            "update-cluster-migration",
            "POST",
            f"{_CLUSTER}/migrate",
            "Record whether a cluster has moved, and where to.",
            "west --service-url http://east:8080 --broker-url pulsar://east:6650",
            (
                CLUSTER,
                switch("migrated", "migrated", "The cluster has moved.", "--migrated", place=In.QUERY),
                option("service_url", "serviceUrl", "URL", "URL of the new admin API."),
                option("service_url_secure", "serviceUrlTls", "URL", "URL of the new admin API with TLS."),
                option("broker_url", "brokerServiceUrl", "URL", "URL of the new brokers."),
                option("broker_url_secure", "brokerServiceUrlTls", "URL", "URL of the new brokers with TLS."),
            ),
        ),
        Request(
            "list-failure-domains",
            "GET",
            DOMAINS,
            "Show the failure domains of a cluster.",
            "standalone",
            (CLUSTER,),
            Shown.VALUE,
            also=("lfd",),
        ),
        Request(
            "get-failure-domain",
            "GET",
            f"{DOMAINS}/{{domain}}",
            "Show the brokers of a failure domain.",
            "standalone --domain-name rack1",
            (CLUSTER, DOMAIN),
            Shown.VALUE,
            also=("gfd",),
        ),
        Request(
            "create-failure-domain",
            "POST",
            f"{DOMAINS}/{{domain}}",
            "Create a failure domain.",
            "standalone --domain-name rack1 --broker-list localhost:8080",
            (CLUSTER, DOMAIN, BROKERS),
            also=("cfd",),
        ),
        Request(
            "update-failure-domain",
            "POST",
            f"{DOMAINS}/{{domain}}",
            "Replace the brokers of a failure domain.",
            "standalone --domain-name rack1 --broker-list localhost:8080",
            (CLUSTER, DOMAIN, BROKERS),
            also=("ufd",),
        ),
        Request(
            "delete-failure-domain",
            "DELETE",
            f"{DOMAINS}/{{domain}}",
            "Delete a failure domain.",
            "standalone --domain-name rack1",
            (CLUSTER, DOMAIN),
            also=("dfd",),
            question="Delete failure domain {domain} of cluster {cluster}?",
        ),
    ),
)


@app.verb("delete", "d", loses_data=True)
def delete_cluster(
    call: Call,
    cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of the cluster.")],
    everything: Annotated[
        bool, typer.Option("-a", "--all", help="Delete the tenants and namespaces of the cluster first.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete the record of a cluster.

    Example: pulsarctl clusters delete west
    """
    contents = " with its tenants, namespaces, and topics" if everything else ""
    call.confirm(f"Delete cluster {cluster}{contents}?", yes=yes, several=everything)
    if everything:
        for tenant in call.admin.tenants.list():
            if call.admin.tenants.get(tenant).get("allowedClusters") == [cluster]:
                call.admin.tenants.delete(tenant, force=True)
    call.admin.clusters.delete(cluster)
