"""A folder includes only earlier folders. The table below is the rule; the picture is

    base > {api, cel} > checks > {queue, admission, provisioning, integrations, webhook}
         > {simulation, readapi} > net > {kube, ledger} > */controller > {local, view} > forecast > program > scenarios > cli

checks/controller is the first of */controller. No folder includes cli.
"""

import re

# Unit (a path prefix; the longest that fits counts) -> the units it may include beside itself.
# "pure" units decide and never act: tools/checks/purity.py checks that on their archives.
SHELL = "base base/log base/threads api api/codec api/yaml net kube"
# The table of admission checks. The folder of a check may include all of checks/: only these two name a controller.
CHECKS = "checks/check_kinds.h"
MAY_INCLUDE = {
    "base": "",
    "base/log": "base",
    "base/threads": "base base/log",
    "base/sqlite": "base",
    "api": "base",
    "api/codec": "base api",
    "api/yaml": "base api api/codec",
    # api/ is open to cel/ for the parser of quantities alone: cel/ knows no kinds.
    "cel": "base api/quantity.h",
    "checks": "base api",
    "queue": "base api",
    "admission": f"base api cel {CHECKS} queue",
    "provisioning": "base api checks",
    "integrations": "base api api/codec cel",
    "webhook": "base api api/codec cel",
    # The core in virtual time: of integrations/ what becomes of a stopped job, of provisioning/ what
    # is declared of runs, and the estimator of waits.
    "simulation": f"base api {CHECKS} queue admission provisioning integrations",
    # Rows of JSON text, their indices and changes: no kind of Kubernetes. It may use only the
    # writer of JSON of api/codec.
    "readapi": "base api/codec/json_write.h",
    "net": "base base/threads",
    "kube": SHELL,
    "ledger": "base base/log base/threads base/sqlite api",
    "checks/controller": f"{SHELL} checks",
    "admission/controller": f"{SHELL} {CHECKS} admission queue",
    "provisioning/controller": f"{SHELL} checks checks/controller provisioning",
    "integrations/controller": f"{SHELL} cel integrations",
    "webhook/controller": f"{SHELL} cel webhook",
    "readapi/controller": f"{SHELL} readapi",
    # Reads what the conditions say: the texts of preemptions, the states of requests.
    "ledger/controller": f"{SHELL} ledger admission provisioning",
    "local": "base base/log base/threads base/sqlite api api/codec api/yaml cel net",
    # Folders of images: documents, layers, roots.
    "local/images": "base api api/codec",
    # Controllers like others, on the queue, the store and the events of kube/.
    "local/cluster": f"{SHELL} local local/images",
    "local/cloud": f"{SHELL} local local/cluster",
    # The cluster as a person sees it, its readers, and the texts of the screens.
    "view": f"{SHELL} {CHECKS} integrations/kind_catalogue.h queue admission provisioning integrations webhook simulation ledger",
    # NodePools are objects of the emulated cloud.
    "forecast": f"{SHELL} view webhook simulation ledger local/cloud",
    # The server: the controllers, the read API, and what `berth up` applies and keeps.
    "program": f"{SHELL} {CHECKS} cel local view forecast queue admission provisioning integrations webhook simulation"
               " admission/controller provisioning/controller integrations/controller webhook/controller"
               " ledger ledger/controller readapi readapi/controller",
    # All of it in virtual time, and the text of `berth why`.
    "scenarios": f"{SHELL} {CHECKS} view program local local/cluster local/cloud admission simulation scenarios/world admission/controller",
    "scenarios/world": f"{SHELL} program local local/cluster local/cloud admission admission/controller webhook integrations"
                       " webhook/controller",
    # cli joins all folders; the jobs are ordinary users and include only base/.
    "cli": f"{SHELL} {CHECKS} cel local local/images local/cluster local/cloud queue admission provisioning integrations webhook simulation"
           " admission/controller provisioning/controller integrations/controller"
           " webhook/controller ledger ledger/controller view forecast program scenarios",
    "jobs": "base",
    "tests": "*",
}
PURE = {"cel", "checks", "queue", "admission", "provisioning", "integrations", "webhook", "simulation", "readapi"}
# The units of webhook/ with threads, which serve the pure rules, and the reader of the YAML of kinds.
SHELL_FILES = {r"webhook/(webhook_server|server_answer)\w*\.(h|cc)": "webhook/controller",
               r"integrations/kind_catalogue\.(h|cc)": "integrations/controller"}

# Library (the start of an include's path) -> the units that may include it. fmt and the standard
# library are free; any other library needs a line here, with a reason.
LIBRARIES = {
    "nlohmann/": "api api/codec api/yaml cel integrations webhook readapi kube local local/images view forecast program cli scenarios"
                 " scenarios/world tests"
                 " checks/controller admission/controller provisioning/controller"
                 " integrations/controller webhook/controller readapi/controller",
    "simdjson.h": "api/codec",
    "boost/": "net tests",
    "openssl/": "net tests",
    "sqlite3.h": "base/sqlite local tests",
    "spdlog/": "base/log",
    "yaml.h": "api/yaml",
    "CLI/": "cli",
    "prometheus/": "kube",
    "re2/": "api cel local kube integrations webhook view program cli tests",
    "cpprest/": "jobs tests",
    "pplx/": "jobs tests",
    "zlib.h": "net local view tests",
    "zstd.h": "local view program tests",
    "archive": "local/images",
    "cuda": "jobs",
    "gtest/": "tests",
    "gmock/": "tests",
    "rapidcheck": "tests",
    "fmt/": "*",
}
# Forbidden in pure units: standard headers that reach the outside world.
IMPURE_HEADERS = {
    "atomic", "condition_variable", "ctime", "filesystem", "fstream", "future", "iostream",
    "mutex", "random", "regex", "semaphore", "shared_mutex", "stop_token", "thread", "time.h",
}
UNORDERED = {"unordered_map", "unordered_set"}
POSIX = re.compile(r"^(?:sys|arpa|netinet|linux|net)/|^(?:unistd|fcntl|signal|poll|dirent|netdb"
                   r"|pthread|sched|termios|pwd|dlfcn|spawn|pty|grp|ifaddrs|syslog)\.h$")


def unit_of(path):
    for pattern, unit in SHELL_FILES.items():
        if re.fullmatch(pattern, path):
            return unit
    parts = path.split("/")
    for length in range(len(parts) - 1, 0, -1):
        prefix = "/".join(parts[:length])
        if prefix in MAY_INCLUDE:
            return prefix
    return None


def allowed(unit, included):
    names = MAY_INCLUDE[unit].split()
    return unit_of(included) == unit or "*" in names or unit_of(included) in names \
        or included in names


def check(tree):
    files = set(tree.files)
    findings = []
    for path in tree.code:
        unit = unit_of(path)
        if unit is None:
            findings.append(f"{path}: the folder is not in the table of tools/checks/layering.py")
            continue
        for line, bracket, included, rest in tree.includes(path):
            problem = (own_include(unit, included, files) if bracket == '"'
                       else library_include(path, unit, included, rest))
            if problem:
                findings.append(f"{path}:{line}: {problem}")
    return findings


def own_include(unit, included, files):
    if included not in files:
        return f'"{included}" is no file of the project (paths start at the root; libraries in <>)'
    if unit != "tests" and included.startswith("tests/"):
        return f"includes {included}: only tests include tests"
    if unit_of(included) is None or allowed(unit, included):
        return None
    return f"{unit} may not include {unit_of(included)} ({included}): it may include " \
           f"{MAY_INCLUDE[unit] or 'nothing but itself'}"


def library_include(path, unit, included, rest):
    is_standard = re.fullmatch(r"[a-z_0-9]+(\.h)?", included) is not None
    for prefix, units in LIBRARIES.items():
        if included.startswith(prefix):
            return None if units == "*" or unit in units.split() else \
                f"{unit} may not include <{included}>: only {units} may"
    if unit in PURE and (included in IMPURE_HEADERS or POSIX.match(included)):
        return f"{unit} is pure and may not include <{included}>"
    if unit in PURE and included in UNORDERED and "lookup only" not in rest:
        return f"{unit} is pure: iterating <{included}> has no order; use the ordered one, or say " \
               "`// lookup only` on the line"
    if is_standard or POSIX.match(included):
        return None
    return f"<{included}>: a library that the table of tools/checks/layering.py does not have"
