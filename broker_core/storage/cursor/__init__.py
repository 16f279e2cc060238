"""What a subscription has acknowledged, and how that reaches the journal."""
