"""What administrators declare: tenants, namespaces, policies, and schemas."""
