"""Who may do what in a namespace, and its properties."""

from pulsarctl.requests.fields import ACTIONS_GIVEN, NAMESPACE, OF_NAMESPACE, ROLE, SUBSCRIPTION, names
from pulsarctl.requests.request import Field, In, Request, Shown
from pulsarctl.shell.headings import Heading
from pulsarctl.values.choice import one_of

PERMISSIONS = Heading.PROPERTIES
AUTH_MODES = ("None", "Prefix")
_KEY = Field("key", "Name of the property.", ("-k", "--key"), "KEY")


def auth_mode(text: str) -> str:
    """The mode, in upper or lower case. Raises `UsageProblem`."""
    return one_of(text, AUTH_MODES, "mode")


PERMISSION_ROWS = (
    Request(
        "grant-permission",
        "POST",
        f"{OF_NAMESPACE}/permissions/{{role}}",
        "Allow a role to act on the topics of a namespace.",
        "public/default --role app --actions produce,consume",
        (NAMESPACE, ROLE, ACTIONS_GIVEN),
        heading=PERMISSIONS,
    ),
    Request(
        "revoke-permission",
        "DELETE",
        f"{OF_NAMESPACE}/permissions/{{role}}",
        "Revoke the permissions of a role on a namespace.",
        "public/default --role app",
        (NAMESPACE, ROLE),
        heading=PERMISSIONS,
    ),
    Request(
        "subscription-permission",
        "GET",
        f"{OF_NAMESPACE}/permissions/subscription",
        "Show the roles that may use each subscription of a namespace.",
        "public/default",
        (NAMESPACE,),
        Shown.MAP,
        heading=PERMISSIONS,
    ),
    Request(
        "grant-subscription-permission",
        "POST",
        f"{OF_NAMESPACE}/permissions/subscription/{{subscription}}",
        "Allow roles to use a subscription.",
        "public/default -s billing --roles app",
        (
            NAMESPACE,
            SUBSCRIPTION,
            names("roles", "Comma-separated list of roles.", "-rs", "--roles"),
        ),
        heading=PERMISSIONS,
    ),
    Request(
        "revoke-subscription-permission",
        "DELETE",
        f"{OF_NAMESPACE}/permissions/{{subscription}}/{{role}}",
        "Revoke the permission of a role to use a subscription.",
        "public/default -s billing --role app",
        (NAMESPACE, SUBSCRIPTION, ROLE),
        heading=PERMISSIONS,
    ),
    Request(
        "set-property",
        "PUT",
        f"{OF_NAMESPACE}/property/{{key}}/{{value}}",
        "Set one property of a namespace.",
        "public/default -k owner -v billing",
        (NAMESPACE, _KEY, Field("value", "Value of the property.", ("-v", "--value"), "VALUE")),
        heading=PERMISSIONS,
    ),
    Request(
        "get-property",
        "GET",
        f"{OF_NAMESPACE}/property/{{key}}",
        "Show one property of a namespace.",
        "public/default -k owner",
        (NAMESPACE, _KEY),
        Shown.VALUE,
        heading=PERMISSIONS,
    ),
    Request(
        "remove-property",
        "DELETE",
        f"{OF_NAMESPACE}/property/{{key}}",
        "Remove one property of a namespace, and show its former value.",
        "public/default -k owner",
        (NAMESPACE, _KEY),
        Shown.VALUE,
        heading=PERMISSIONS,
    ),
)

AUTH_MODE_ROWS = (
    Request(
        "get-subscription-auth-mode",
        "GET",
        f"{OF_NAMESPACE}/subscriptionAuthMode",
        "Show which names subscriptions may have.",
        "public/default",
        (NAMESPACE,),
        Shown.VALUE,
        heading=Heading.DELIVERY,
    ),
    Request(
        "set-subscription-auth-mode",
        "POST",
        f"{OF_NAMESPACE}/subscriptionAuthMode",
        "Require the role of a client as the prefix of its subscriptions, or allow any name.",
        "public/default -m Prefix",
        (
            NAMESPACE,
            Field(
                "mode",
                "Naming rule: None (any name) or Prefix (the role of the client).",
                ("-m", "--subscription-auth-mode"),
                "MODE",
                In.WHOLE,
                read=auth_mode,
                words=("None", "Prefix"),
            ),
        ),
        heading=Heading.DELIVERY,
    ),
)
