"""Resource groups, resource quotas, and racks of bookies: stored and shown."""

from tests.broker.admin.conftest import Admin

UNLIMITED = dict.fromkeys(("publishRateInMsgs", "publishRateInBytes", "dispatchRateInMsgs", "dispatchRateInBytes"), -1)
DEFAULT = {
    "msgRateIn": 40.0,
    "msgRateOut": 120.0,
    "bandwidthIn": 100000.0,
    "bandwidthOut": 300000.0,
    "memory": 80.0,
    "dynamic": True,
}
BUNDLE = "resource-quotas/acme/shop/0x00000000_0x40000000"


async def test_a_change_of_a_resource_group_keeps_its_other_limits(admin: Admin) -> None:
    assert (await admin("GET", "resourcegroups")).json == []
    assert (await admin("PUT", "resourcegroups/rg", {"publishRateInMsgs": 10})).status == 204
    assert (await admin("PUT", "resourcegroups/rg", {"dispatchRateInBytes": 7})).status == 204
    shown = (await admin("GET", "resourcegroups/rg")).json
    assert shown == {**UNLIMITED, "publishRateInMsgs": 10, "dispatchRateInBytes": 7}
    assert (await admin("GET", "resourcegroups")).json == ["rg"]
    assert (await admin("DELETE", "resourcegroups/rg")).status == 204
    assert (await admin("GET", "resourcegroups/rg")).reason == "ResourceGroup does not exist"
    assert (await admin("DELETE", "resourcegroups/rg")).status == 404


async def test_a_bundle_has_the_default_quota_until_it_has_its_own(shop: Admin) -> None:
    own = {**dict.fromkeys(DEFAULT, 1.5), "dynamic": False}
    assert (await shop("GET", BUNDLE)).json == DEFAULT
    assert (await shop("POST", BUNDLE, own)).status == 204
    assert (await shop("GET", BUNDLE)).json == own
    assert (await shop("GET", "resource-quotas")).json == DEFAULT
    assert (await shop("POST", "resource-quotas", {**own, "memory": 2.0})).status == 204
    assert (await shop("DELETE", BUNDLE)).status == 204
    assert (await shop("GET", BUNDLE)).json["memory"] == 2.0
    assert (await shop("DELETE", BUNDLE)).status == 404
    assert (await shop("GET", "resource-quotas/acme/shop/nope")).status == 412


async def test_a_bookie_has_a_rack_in_one_group(admin: Admin) -> None:
    rack = {"rack": "/r", "hostname": "h"}
    path = "bookies/racks-info"
    assert (await admin("GET", "bookies/all")).json == {"bookies": []}
    assert (await admin("POST", f"{path}/b:1", rack)).reason == "Bookie 'group' parameters is missing"
    nested = await admin("POST", f"{path}/b:1?group=g", {"rack": "/region/r"})
    assert nested.status == 412 and "a slash at the beginning and end only" in nested.reason
    for group in ("g", "other"):
        assert (await admin("POST", f"{path}/b:1?group={group}", rack)).status == 204
    assert (await admin("GET", path)).json == {"other": {"b:1": rack}}
    assert (await admin("GET", f"{path}/b:1")).json == rack
    assert (await admin("DELETE", f"{path}/b:1")).status == 204
    missing = await admin("DELETE", f"{path}/b:1")
    assert (missing.status, missing.reason) == (404, "Bookie rack placement configuration not found: b:1")


async def test_the_metadata_store_has_no_migration(admin: Admin) -> None:
    assert (await admin("GET", "metadata/migration/status")).json == {"phase": "NOT_STARTED"}
    refused = await admin("POST", "metadata/migration/start?target=oxia://host")
    assert (refused.status, "not configured for migration" in refused.reason) == (400, True)
