#!/usr/bin/env python3
"""Checks that no two classes, structs, unions or enums of one namespace have the same name in different files. Programs
link the inline functions of one for the other's (C++ standard, [basic.def.odr]), and no compiler says so. Not counted:
nested classes, declarations without a body, specialisations of templates, anonymous namespaces. Usage: check_names.py
[ROOT]. Exit code 1 and one line per offence."""

import re
import sys

from check_layers import source_files
from run_check import run_check

SKIPPED = r"//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*"  # comments, directives of the preprocessor
LITERAL = r"""(?:u8|[uUL])?R"(?P<end>[^\s(]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'"""
TOKEN = re.compile(rf"{SKIPPED}|(?P<literal>{LITERAL})|(?P<token>\d[\w.']*|\w+|::|\S)", re.DOTALL | re.MULTILINE)
CLASS_KEYS = ("class", "struct", "union")
CLOSING = {"<": ">", "(": ")", "[": "]"}


def tokens_of(source):
    """(token, line) of all that is neither a comment nor a directive; any literal is '""'."""
    line, counted = 1, 0
    for match in TOKEN.finditer(source):
        line += source.count("\n", counted, match.start())
        counted = match.start()
        if match.group("literal"):
            yield '""', line
        elif match.group("token"):
            yield match.group("token"), line


def behind_brackets(tokens):
    """What follows the bracket that tokens begin with, and all that it holds."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token == tokens[0]) - (token == CLOSING[tokens[0]])
        if depth == 0:
            return tokens[i + 1:]
    return []


def class_of(head):
    """The name of the class or enum whose block follows these tokens, or "" where another block does."""
    while head[:2] == ["template", "<"]:
        head = behind_brackets(head[1:])
    if head[:1] == ["enum"]:
        head = head[1 + (head[1:2] in (["class"], ["struct"])):]
    elif head[:1] and head[0] in CLASS_KEYS:
        head = head[1:]
    else:
        return ""
    while head[:1] == ["["] or head[:2] == ["alignas", "("]:
        head = behind_brackets(head[head[0] == "alignas":])
    is_name = bool(head) and head[0] != ":" and head[1:2] in ([], [":"], ["final"])
    return head[0] if is_name else ""


def scope_of(head):
    """The name of the namespace whose block follows these tokens, "" for extern "C", None for any other block."""
    if head == ["extern", '""']:
        return ""
    if head[:1] == ["inline"]:
        head = head[1:]
    return "".join(head[1:]) or None if head[:1] == ["namespace"] else None


def definitions(source):
    """(qualified name, line) of the classes and enums that are defined in namespaces with a name, or in none."""
    scopes, head, line = [], [], 0  # of the blocks that are open; tokens since the last block or semicolon
    for token, at in tokens_of(source):
        if token not in "{};":
            line = line if head else at
            head.append(token)
            continue
        if token == "{":
            if None not in scopes and (name := class_of(head)):
                yield "::".join([scope for scope in scopes if scope] + [name]), line
            scopes.append(scope_of(head))
        elif token == "}" and scopes:
            scopes.pop()
        head = []


def check(root):
    """All offences in the tree under root, as "file:line: text", and how many classes and enums it has."""
    offences, first = [], {}
    for _, path in source_files(root):
        file = path.relative_to(root)
        for name, line in definitions(path.read_text(encoding="utf-8")):
            other, at = first.setdefault(name, (file, line))
            if other != file:
                offences.append(f"{file}:{line}: {name} is also defined in {other}:{at}: rename one of them so that its "
                                "name says what it is, or move what one .cpp uses into its anonymous namespace")
    return offences, len(first)


if __name__ == "__main__":
    sys.exit(run_check(check, "names: {} classes and enums have names of their own", "classes"))
