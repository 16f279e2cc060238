"""`pulsarctl tenants`: who may own namespaces, and on which clusters."""

from typing import Annotated

import typer

from pulsarctl.shell.arguments import Force, Tenant, Yes, csv
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("tenants", "Create, list and delete tenants.")

Roles = Annotated[
    list[str] | None, typer.Option("-r", "--admin-roles", metavar="ROLE,...", help="Who may administrate it.")
]
AllowedClusters = Annotated[
    list[str] | None,
    typer.Option("-c", "--allowed-clusters", metavar="CLUSTER,...", help="Where it may live."),
]


@app.verb("list", "l")
def list_tenants(call: Call) -> None:
    """List the tenants. Needs a super-user.

    Example: pulsarctl tenants list
    """
    call.show_names("TENANT", call.admin.tenants.list())


@app.verb("get", "g")
def get_tenant(call: Call, tenant: Tenant) -> None:
    """Show admin roles and allowed clusters. Fails with 404 when there is no such tenant.

    Example: pulsarctl tenants get public
    """
    call.show(call.admin.tenants.get(tenant))


@app.verb("create", "c")
def create_tenant(
    call: Call, tenant: Tenant, admin_roles: Roles = None, allowed_clusters: AllowedClusters = None
) -> None:
    """Create a tenant; without clusters it is allowed on all of them. Fails with 409 when it exists.

    Example: pulsarctl tenants create shop --admin-roles alice,bob
    """
    clusters = csv(allowed_clusters) or call.admin.clusters.list()
    call.admin.tenants.create(tenant, csv(admin_roles), clusters)


@app.verb("update", "u")
def update_tenant(
    call: Call, tenant: Tenant, admin_roles: Roles = None, allowed_clusters: AllowedClusters = None
) -> None:
    """Change roles or clusters; what is not given stays as it is.

    Example: pulsarctl tenants update shop --admin-roles alice
    """
    current = call.admin.tenants.get(tenant)
    roles = current.get("adminRoles", []) if admin_roles is None else csv(admin_roles)
    clusters = current.get("allowedClusters", []) if allowed_clusters is None else csv(allowed_clusters)
    call.admin.tenants.update(tenant, roles, clusters)
    call.tell(f"tenant {tenant}: admin roles {', '.join(roles) or 'none'}, clusters {', '.join(clusters) or 'none'}")


@app.verb("delete", "d", loses_data=True)
def delete_tenant(call: Call, tenant: Tenant, force: Force = False, yes: Yes = False) -> None:
    """Delete a tenant. Fails with 409 while it has namespaces, unless forced.

    Without a terminal, --force needs --yes.

    Example: pulsarctl tenants delete shop
    """
    call.confirm(f"Delete tenant {tenant}" + (" and all its namespaces?" if force else "?"), yes=yes, several=force)
    call.admin.tenants.delete(tenant, force=force)
