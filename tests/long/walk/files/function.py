def process(value: str) -> str:
    return value
