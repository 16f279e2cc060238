"""`pulsarctl tenants`: the owners of namespaces, and the clusters they may use."""

from typing import Annotated

import typer

from pulsarctl.shell.arguments import Force, Tenant, Yes, csv
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("tenants", "Create, list, and delete tenants.")

Roles = Annotated[
    list[str] | None,
    typer.Option("-r", "--admin-roles", metavar="ROLE,...", help="Roles that may administer the tenant."),
]
AllowedClusters = Annotated[
    list[str] | None,
    typer.Option("-c", "--allowed-clusters", metavar="CLUSTER,...", help="Clusters that the tenant may use."),
]


@app.verb("list", "l", watchable=True)
def list_tenants(call: Call) -> None:
    """List the tenants.

    Requires a superuser.

    Example: pulsarctl tenants list
    """
    call.show_names("TENANT", call.admin.tenants.list())


@app.verb("get", "g")
def get_tenant(call: Call, tenant: Tenant) -> None:
    """Show the admin roles and the allowed clusters of a tenant.

    Example: pulsarctl tenants get public
    """
    call.show(call.admin.tenants.get(tenant))


@app.verb("create", "c")
def create_tenant(
    call: Call, tenant: Tenant, admin_roles: Roles = None, allowed_clusters: AllowedClusters = None
) -> None:
    """Create a tenant.

    Without -c, the tenant may use all clusters. Fails with exit code 6 if the tenant exists.

    Example: pulsarctl tenants create shop --admin-roles alice,bob
    """
    clusters = call.admin.clusters.list() if allowed_clusters is None else csv(allowed_clusters)
    call.admin.tenants.create(tenant, csv(admin_roles), clusters)


@app.verb("update", "u")
def update_tenant(
    call: Call, tenant: Tenant, admin_roles: Roles = None, allowed_clusters: AllowedClusters = None
) -> None:
    """Change the admin roles or the allowed clusters of a tenant.

    Example: pulsarctl tenants update shop --admin-roles alice
    """
    current = call.admin.tenants.get(tenant)
    roles = current.get("adminRoles", []) if admin_roles is None else csv(admin_roles)
    clusters = current.get("allowedClusters", []) if allowed_clusters is None else csv(allowed_clusters)
    call.admin.tenants.update(tenant, roles, clusters)
    call.tell(f"tenant {tenant}: admin roles {', '.join(roles) or 'none'}, clusters {', '.join(clusters) or 'none'}")


@app.verb("delete", "d", loses_data=True)
def delete_tenant(call: Call, tenant: Tenant, force: Force = False, yes: Yes = False) -> None:
    """Delete a tenant.

    A tenant that has namespaces is deleted only with --force. Without a terminal, --force requires --yes.

    Example: pulsarctl tenants delete shop
    """
    call.confirm(f"Delete tenant {tenant}" + (" and all its namespaces?" if force else "?"), yes=yes, several=force)
    call.admin.tenants.delete(tenant, force=force)
