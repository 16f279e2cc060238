"""The bytes that a client of the binary protocol gets from another kind of server at the address."""

WEB_SERVER_ANSWERED = "a web server answered; is this the port of the binary protocol?"
_BEGINNINGS = (b"HTTP", b"<")


def is_web_server(answer: bytes) -> bool:
    """Whether the first bytes after CONNECT are those of a web server. As a frame, they would be of over 1 GB."""
    return answer.startswith(_BEGINNINGS)
