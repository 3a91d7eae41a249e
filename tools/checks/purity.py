"""The archives of the pure folders call no clock, file, socket, thread, random number or library
that does: nm lists their undefined symbols. stderr and abort stay allowed: BERTH_ASSERT."""

import re
import subprocess

FORBIDDEN = [
    ("clock", r"std::chrono::_V2::\w+::now|std::chrono::\w+_clock::now|clock_gettime|gettimeofday"
              r"|time|nanosleep|clock_nanosleep|usleep|sleep|localtime(_r)?"),
    ("file", r"fopen(64)?|freopen(64)?|open(at)?(64)?|read|write|pread(64)?|pwrite(64)?|unlink"
             r"|rename|mkdir|stat(64)?|fsync|std::basic_[io]?fstream<.*|std::basic_filebuf<.*"
             r"|std::filesystem::.*|std::c(out|in|err|log)|printf|__printf_chk|puts"),
    ("socket", r"socket|connect|bind|listen|accept4?|send(to|msg)?|recv(from|msg)?|getaddrinfo"
               r"|poll|ppoll|select|epoll_\w+"),
    ("thread", r"pthread_(create|mutex_\w+|cond_\w+|rwlock_\w+|once)|std::thread::.*"
               r"|std::condition_variable::.*|std::mutex::.*|std::__throw_system_error.*|sem_\w+"),
    ("random", r"s?rand(_r)?|random|drand48|std::random_device::.*|getrandom|getentropy"
               r"|arc4random\w*"),
    ("environment", r"(secure_)?getenv|setenv|system|fork|vfork|execve?|posix_spawnp?"),
    ("library", r"sqlite3_\w+|spdlog::.*|boost::.*|SSL_\w+|EVP_\w+|berth::Log\(.*|berth::net::.*"
                r"|berth::kube::.*|berth::local::.*"),
]
PATTERNS = [(kind, re.compile(rf"(?:{pattern})(?:@.*|\(.*|\[.*)?", re.DOTALL))
            for kind, pattern in FORBIDDEN]


def forbidden_symbols(nm_output):
    """(object, kind, symbol) for each forbidden line of `nm -C --undefined-only`."""
    member = ""
    for line in nm_output.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            member = line[:-1]
            continue
        match = re.match(r"\s+[Uw] (.*)", line)
        if not match:
            continue
        for kind, pattern in PATTERNS:
            if pattern.fullmatch(match.group(1)):
                yield member, kind, match.group(1)


def check(tree):
    if tree.build is None:
        return ["purity: nothing is built yet: run tools/build first"]
    archives = (tree.build / "pure_archives.txt").read_text().split("\n")
    findings = []
    for line in filter(None, archives):
        target, archive = line.split(" ", 1)
        run = subprocess.run(["nm", "-C", "--undefined-only", archive], capture_output=True,
                             text=True)
        if run.returncode != 0:
            findings.append(f"purity: {target}: {run.stderr.strip() or 'nm failed'}: build it")
            continue
        for member, kind, symbol in sorted(set(forbidden_symbols(run.stdout))):
            findings.append(f"purity: {target} ({member}): {kind}: {symbol[:100]}")
    return findings
