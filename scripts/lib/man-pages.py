"""Writes the man pages of a program that reads its arguments with swift-argument-parser, from what its --help says.

One page for the program, and one for each of its commands with those below it. The dump that is read is the help as
JSON; it has everything that the help has, before it is wrapped.
"""

import argparse
import json
import os
import re
import subprocess

# A line of a discussion that is a heading of its own, as in the help of the program itself.
HEADING = re.compile(r"[A-Z][A-Z ]+")


def escaped(text):
    """Text as roff shows it literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def discussion(text):
    """Paragraphs are filled; what is indented stands as it is."""
    literal = False
    for line in text.split("\n"):
        if not literal and line.startswith(" "):
            yield ".PP\n.EX"
            literal = True
        elif literal and line and not line.startswith(" "):
            yield ".EE"
            literal = False
        if HEADING.fullmatch(line):
            yield f".SH {line}"
        elif line or literal:
            yield escaped(line)
        else:
            yield ".PP"
    if literal:
        yield ".EE"


def spelling(argument, style):
    value = f"<{argument['valueName']}>" if argument["kind"] != "flag" else ""
    if argument["kind"] == "positional":
        return style(value)
    names = ("-" * (1 if name["kind"] == "short" else 2) + name["name"] for name in argument["names"])
    return ", ".join(bold(name) for name in names) + (f" {style(value)}" if value else "")


def shown(arguments):
    return [argument for argument in arguments if argument["shouldDisplay"]]


def synopsis(command, path):
    yield ".B " + escaped(" ".join(path))
    if command.get("subcommands"):
        yield italic("command") + " …"
        return
    arguments = shown(command.get("arguments", []))
    if any(argument["kind"] != "positional" for argument in arguments):
        yield "[" + italic("options") + "]"
    for argument in arguments:
        if argument["kind"] == "positional":
            text = italic(argument["valueName"]) + (" …" if argument["isRepeating"] else "")
            yield f"[{text}]" if argument["isOptional"] else text


def arguments_of(command, heading):
    """Those of the command, under the titles that its help has."""
    groups = {}
    for argument in shown(command.get("arguments", [])):
        otherwise = "Arguments" if argument["kind"] == "positional" else "Options"
        groups.setdefault(argument.get("sectionTitle", otherwise), []).append(argument)
    for title, arguments in groups.items():
        yield f"{heading} {title.capitalize() if heading == '.SS' else title.upper()}"
        for argument in arguments:
            yield ".TP\n" + spelling(argument, italic)
            text = argument.get("abstract", "")
            if argument.get("allValues"):
                text += f" One of: {', '.join(argument['allValues'])}."
            if argument.get("defaultValue"):
                text += f" (default: {argument['defaultValue']})"
            yield escaped(text.strip() or "–")


def header(name, abstract, version):
    yield f".TH {escaped(name.upper())} 1 \"\" \"federation {version}\" \"User commands\""
    yield ".SH NAME"
    yield f"{escaped(name)} \\- {escaped(abstract.rstrip('.'))}"


def below(command, path):
    """Sections for the commands below a command, in the order of its help."""
    for inner in command.get("subcommands", []):
        inner_path = path + [inner["commandName"]]
        yield f".SH {escaped(' '.join(inner_path[1:]).upper())}"
        yield escaped(inner.get("abstract", ""))
        yield ".PP"
        yield from synopsis(inner, inner_path)
        if inner.get("discussion"):
            yield ".PP"
            yield from discussion(inner["discussion"])
        yield from arguments_of(inner, ".SS")
        yield from below(inner, inner_path)


def page(command, path, version):
    name = "-".join(path)
    yield from header(name, command.get("abstract", ""), version)
    yield ".SH SYNOPSIS"
    yield from synopsis(command, path)
    if command.get("discussion"):
        yield ".SH DESCRIPTION"
        yield from discussion(command["discussion"])
    yield from arguments_of(command, ".SH")
    yield from below(command, path)
    yield ".SH SEE ALSO"
    yield ".BR federation (1)"


def program_page(command, commands, version):
    path = [command["commandName"]]
    yield from header(path[0], command["abstract"].split(":")[0], version)
    yield ".SH SYNOPSIS"
    yield from synopsis(command, path)
    yield ".SH DESCRIPTION"
    yield escaped(command["abstract"])
    yield ".PP"
    yield from discussion(command["discussion"])
    yield ".SH COMMANDS"
    for inner in commands:
        yield f".TP\n.BR {escaped(path[0] + '-' + inner['commandName'])} (1)\n{escaped(inner['abstract'])}"
    yield from arguments_of(command, ".SH")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder")
    options = parser.parse_args()

    def ask(argument):
        return subprocess.run([options.program, argument], check=True, capture_output=True, text=True).stdout

    version = ask("--version").strip()
    command = json.loads(ask("--experimental-dump-help"))["command"]
    commands = [inner for inner in command["subcommands"] if inner["commandName"] != "help"]
    pages = {command["commandName"]: program_page(command, commands, version)}
    for inner in commands:
        path = [command["commandName"], inner["commandName"]]
        pages["-".join(path)] = page(inner, path, version)
    os.makedirs(options.folder, exist_ok=True)
    for name, lines in pages.items():
        with open(f"{options.folder}/{name}.1", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


main()
