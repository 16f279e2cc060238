"""The web console: pages about tenants, topics, subscriptions, and messages, and actions on them.

It sees only the admin API (`console.admin_api`). So the bundled broker (`admin.console_pages`) and `pulsarctl console`,
in front of any cluster, serve the same pages, and a page can do nothing that its user may not do over REST.
"""
