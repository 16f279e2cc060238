"""Messages at the front of a subscription, without consuming them."""
