"""The session of docs/how-to/tls.md: its lines, in a shell, with other ports."""

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.support.program import Program

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "tls.md"


def lines() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)  # one for each terminal
    return [line for block in blocks for line in block.splitlines() if line]


def free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        return one.getsockname()[1], two.getsockname()[1]


def test_the_lines_lead_from_an_open_broker_to_a_message_over_mutual_tls_with_a_token(tmp_path: Path) -> None:
    binary, web = (str(port) for port in free_ports())
    found = [line.replace("6651", binary).replace("8443", web) for line in lines()]
    assert len(found) == 10
    environ = {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}

    def shell(line: str) -> str:
        ended = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    for line in found[:3]:
        shell(line)
    ports = shlex.split(f"-X brokerServicePortTls={binary} -X webServicePortTls={web}")
    with Program(tmp_path, *shlex.split(found[3])[1:], *ports, "--print-urls", "json") as broker:
        urls = json.loads(broker.read_lines(1)[0])
        assert [one for one in urls.values() if re.match("(pulsar|http)://", str(one))] == []
        shell(found[4])
        assert re.search(r"role\s+admin\n.*superUser\s+yes", shell(f"{found[5]} -o table"), re.DOTALL)
        for line in found[6:9]:
            shell(line)
        assert "content:hello" in shell(found[9])
        without = "pulsarctl tenants list --no-context --token-file admin.token --tls-trust-cert data/tls/ca.pem"
        refused = subprocess.run(
            ["bash", "-c", f"{without} --admin-url https://localhost:{web}"],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert refused.returncode == 4
        broker.send(signal.SIGTERM)
        assert broker.finish() == 0
    assert (
        f"--tls-cert {tmp_path}/data/tls/client.pem --tls-key {tmp_path}/data/tls/client.key\n"
        in broker.stderr.decode()
    )
