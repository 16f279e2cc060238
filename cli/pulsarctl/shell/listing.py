"""How a noun's help lists its verbs: under headings, with the verbs of policies on a page of their own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pulsarctl.shell.headings import OF_POLICIES, Heading

POLICIES = "policies"  # the verb whose help lists the verbs of policies


class Listing(NamedTuple):
    """The visible verbs of a noun. `summary_of` is asked only for the verbs that are printed."""

    names: Sequence[str]
    headings: Mapping[str, Heading]
    summary_of: Callable[[str], str]

    @property
    def sections(self) -> list[tuple[Heading, list[str]]]:
        """The verbs under each heading, in the order of the headings; empty for a noun without headings."""
        sections = [
            (heading, [name for name in self.names if self.headings.get(name) is heading]) for heading in Heading
        ]
        return [(heading, names) for heading, names in sections if names]

    @property
    def policies(self) -> list[tuple[Heading, list[str]]]:
        """The names of the policies under each of their headings: those that have a `set-` verb."""
        setters = [(heading, [name for name in names if name.startswith("set-")]) for heading, names in self.sections]
        return [
            (heading, [name.removeprefix("set-") for name in names])
            for heading, names in setters
            if heading in OF_POLICIES
        ]

    def write(self, formatter: Any, path: str) -> None:
        """The noun's help. `path` is how the noun was typed."""
        sections = self.sections
        if not sections:
            self._write_section(formatter, "Commands", self.names)
        has_page = POLICIES in self.names
        for heading, names in sections:
            if not (has_page and heading.is_of_policies):
                self._write_section(formatter, heading, names)
        if has_page:
            with formatter.section(f"get-, set-, and remove- for each of these; see '{path} {POLICIES} --help'"):
                formatter.write_dl([(heading, ", ".join(names)) for heading, names in self.policies])

    def write_policies(self, formatter: Any) -> None:
        """The page that `policies --help` adds."""
        for heading, names in self.sections:
            if heading.is_of_policies:
                self._write_section(formatter, heading, names)

    def _write_section(self, formatter: Any, title: str, names: Sequence[str]) -> None:
        """Whole summaries: cut to what the longest name leaves of the line, they say nothing."""
        with formatter.section(title):
            formatter.write_dl([(name, self.summary_of(name)) for name in names])
