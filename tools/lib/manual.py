"""Man pages made of the program's --help, and the scripts of its completion. For tools/package and tools/release."""

import re

import program_files

SUMMARY = "batch job queues for Kubernetes with Kueue's API"
SHELLS = ("bash", "zsh", "fish")
# Names under which kubectl finds the program.
PLUGINS = ("kubectl-berth", "kubectl-kueue")


def help_of(program, *command):
    return program_files.execute(program, *command, "--help", env={"PATH": "/usr/bin", "COLUMNS": "1000"})


def commands(program):
    """Name -> summary, of the subcommands in `berth --help`."""
    listed = help_of(program).partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    found = dict(re.findall(r"^  (\S+)\s+(\S.*)$", listed, re.MULTILINE))
    if not found:
        raise program_files.PackingError(f"{program} --help lists no subcommands")
    return found


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)
    return "\\&" + text if text.startswith((".", "'")) else text


def man_page(name, summary, text, others, version):
    """roff, of the text that --help prints: its summary, usage, lists of options, examples."""
    lines = [f'.TH {escape(name.upper())} 1 "" "berth {version}"', ".SH NAME",
             f"{escape(name)} \\- {escape(summary)}", ".SH SYNOPSIS"]
    usage = re.search(r"^Usage: (.*)$", text, re.MULTILINE)
    lines.append(f".B {escape(usage.group(1))}")
    verbatim = False
    for line in text[usage.end():].splitlines():
        item = re.match(r"  (\S.*?)(?:\s{2,}(\S.*))?$", line)
        if re.match(r"\S.*:$", line):
            lines.append(".SH " + escape(line[:-1].upper()))
            verbatim = line.startswith("Example")
            continue
        if not line:
            continue
        if item and not verbatim:
            lines += [".TP", f".B {escape(item.group(1))}"] + (
                [escape(item.group(2))] if item.group(2) else [])
        elif item:
            lines += [".PP", ".nf", escape(line[2:]), ".fi"]
        elif line.startswith(" "):
            lines.append(escape(line.strip()))
        else:
            lines += [".PP", escape(line)]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{escape(other)}\\fR(1)" for other in others)]
    return "\n".join(lines) + "\n"


def man_pages(program, version):
    """Name -> roff, of the program and each of its commands."""
    found = commands(program)
    pages = {"berth": (SUMMARY, help_of(program))}
    pages.update({f"berth-{name}": (summary, help_of(program, name))
                  for name, summary in found.items()})
    return {name: man_page(name, summary, text, [other for other in pages if other != name] if name == "berth" else ["berth"], version)
            for name, (summary, text) in pages.items()}


def completions(program):
    """Shell -> script."""
    return {shell: program_files.execute(program, "completion", shell) for shell in SHELLS}
