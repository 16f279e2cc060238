"""Writes docs/cli.md from the commands and, through its own generator, conf/standalone.yaml from the configuration.

tests/cli/test_docs.py fails when docs/cli.md is not what this would write.
"""

import runpy
from pathlib import Path

from pulsarctl.reference import markdown, pages

HERE = Path(__file__).parent


def main() -> None:
    (HERE / "cli.md").write_text(markdown(pages()), encoding="utf-8")
    runpy.run_path(str(HERE.parent / "conf" / "generate.py"), run_name="__main__")


if __name__ == "__main__":
    main()
