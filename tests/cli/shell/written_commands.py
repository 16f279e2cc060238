"""Command lines that a page, a script, or a message of the program shows."""

import ast
import re
import shlex
from collections.abc import Iterable, Iterator

SHELLS = ("", "bash", "console", "sh")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
QUOTED = re.compile(r"(?:^|['`])(pulsarctl [^'`\n]+)(?=['`]|$)", re.MULTILINE)
PROMPT = re.compile(r"^\$ |^pulsarctl \(\w+\)> |^(?:[\d*/]+ +){5}")
OPERATOR = re.compile(r"[;&|(){}<>]+")
KEYWORDS = ("until", "while", "if", "then", "do", "else", "!", "exec")


def in_blocks(page: str) -> Iterator[str]:
    """The lines of the indented blocks of a page in Markdown, and of the fenced ones with commands."""
    language = None
    for line in page.replace("\\\n", " ").splitlines():
        if line.lstrip().startswith("```"):
            language = line.strip()[3:] if language is None else None
        elif language in SHELLS:
            yield line
        elif language is None and line.startswith("    "):
            yield line[4:]


def in_sentences(page: str) -> list[str]:
    return CODE.findall(page)


def in_messages(module: str) -> Iterator[str]:
    """What the strings of a Python module, except its docstrings, show in quotes or as a whole line, and findings."""
    tree = ast.parse(module)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (id(node) not in parts | docstrings and isinstance(node, ast.Constant)):
            yield from QUOTED.findall(shown_text(node))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "command":  # of pulsarctl.diagnosis.words
            yield shlex.join(["pulsarctl", *(shown_text(word) for word in node.args)])


def commands(lines: Iterable[str], *programs: str) -> Iterator[list[str]]:
    """The words after one of `programs` in each simple command of the lines, which may be those of a crontab."""
    for line in lines:
        for words in _simple_commands(PROMPT.sub("", line.strip())):
            if words and words[0] in programs:
                yield words[1:]


def shown_text(node: ast.AST) -> str:
    """A string of a module; `1` stands for a value."""
    if isinstance(node, ast.JoinedStr):
        return "".join(shown_text(part) for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "1"


def _simple_commands(line: str) -> Iterator[list[str]]:
    words: list[str] = []
    for word in _words(line):
        if OPERATOR.fullmatch(word):
            yield words[: -1 if word == ">" and words[-1:] == ["2"] else None]
            words = []
        elif words or (word not in KEYWORDS and "=" not in word):
            words.append(word)
    yield words


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|(){}<>")
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a line of a longer text in quotes
        return []
