"""The jobs of `pulsarctl ops`. Only `commands` imports it."""
