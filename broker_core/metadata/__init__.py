"""The objects that administrators declare: tenants, namespaces, policies, and schemas."""
