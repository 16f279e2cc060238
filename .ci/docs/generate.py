"""Writes docs/reference/cli.md, conf/client.yaml, and conf/state.schema.json, and runs the generators of the rest.

tests/cli/shell/test_docs.py fails if the files in the repository differ from the output.
"""

import json
import runpy
from pathlib import Path

from pulsarctl.shell.reference import client_yaml, markdown, pages
from pulsarctl.state.editors import json_schema

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def main() -> None:
    (ROOT / "docs" / "reference" / "cli.md").write_text(markdown(pages()), encoding="utf-8")
    (ROOT / "conf" / "client.yaml").write_text(client_yaml(), encoding="utf-8")
    schema = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    (ROOT / "conf" / "state.schema.json").write_text(schema, encoding="utf-8")
    runpy.run_path(str(HERE / "pulsar_admin.py"), run_name="__main__")
    runpy.run_path(str(ROOT / "conf" / "generate.py"), run_name="__main__")


if __name__ == "__main__":
    main()
