"""Writes docs/reference/commands, conf/client.yaml, and conf/state.schema.json, and runs the generators of the rest.

tests/cli/shell/test_docs.py fails if the files in the repository differ from the output.
"""

import json
import runpy
import shutil
from pathlib import Path

from pulsarctl.shell.reference import client_yaml, documents, pages
from pulsarctl.state.editors import json_schema

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def main() -> None:
    commands = ROOT / "docs" / "reference" / "commands"
    shutil.rmtree(commands, ignore_errors=True)
    commands.mkdir()
    for name, text in documents(pages()).items():
        (commands / name).write_text(text, encoding="utf-8")
    (ROOT / "conf" / "client.yaml").write_text(client_yaml(), encoding="utf-8")
    schema = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    (ROOT / "conf" / "state.schema.json").write_text(schema, encoding="utf-8")
    for script in (
        HERE / "pulsar_admin.py",
        HERE / "configuration.py",
        HERE / "rest.py",
        ROOT / "conf" / "generate.py",
    ):
        runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
