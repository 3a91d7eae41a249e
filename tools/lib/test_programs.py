"""What tests need beside Berth's own programs, and the commands that build or install it.

tools/cmake/BerthTestNeeds.cmake gives a test the names of the programs (PROGRAMS), in its variable BERTH_NEEDS, and
the label `go` where Go builds one of them."""

import dataclasses
import shutil
import subprocess
import sys
import time


@dataclasses.dataclass(frozen=True)
class Program:
    command: tuple
    contents: str
    minutes: float  # to make the program on two cores, once
    needs_go: bool = True


PROGRAMS = {
    "kubectl": Program(("tools/kubectl",), "the newest kubectl", 1),
    "kubernetes": Program(("tools/kubernetes",), "a control plane of Kubernetes, and kwok", 9),
    "helm": Program(("tools/helm",), "helm", 1),
    "grafana": Program(("tools/grafana",), "Grafana's own types of dashboards", 1),
    "operators": Program(("tools/operators",), "operators of job kinds", 5),
    "client-go": Program(("tools/strangers", "client-go"), "a controller of client-go", 1),
    "e2e": Program(("tools/strangers", "e2e"), "Kubernetes' own end-to-end tests", 5),
    "karpenter": Program(("tools/strangers", "karpenter"), "Karpenter with its KWOK provider", 3),
    "kubectl-debian": Program(("tools/kubectl-debian",), "Debian's kubectl", 0.2, needs_go=False),
    "promtool": Program(("tools/promtool",), "Prometheus' promtool", 0.2, needs_go=False),
    "dask": Program(("tools/dask",), "Dask and its operator, in a virtual environment", 0.5, needs_go=False),
    "openid": Program(("tools/openid-provider",), "an OpenID provider of npm", 0.2, needs_go=False),
    "site": Program(("tools/docs", "--install"), "mkdocs-material, in a virtual environment", 0.5, needs_go=False),
    "java": Program(("tools/strangers", "java"), "a program of the Kubernetes client for Java", 1, needs_go=False),
}


def make(names):
    """Makes the programs; those of Go alone where Go is missing are left out, with a line that says so. False: one
    could not be made."""
    made = True
    for name in PROGRAMS:
        program = PROGRAMS[name]
        if name not in names:
            continue
        if program.needs_go and shutil.which("go") is None:
            print(f"tools/test: no Go here: what needs {program.contents} is skipped", file=sys.stderr)
            continue
        print(f"tools/test: {program.contents} ({program.minutes:g} minutes where new)", file=sys.stderr, flush=True)
        started = time.monotonic()
        if subprocess.run(program.command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            print(f"tools/test: {' '.join(program.command)} failed after {time.monotonic() - started:.0f} s: "
                  "what needs it is skipped", file=sys.stderr)
            made = False
    return made
