"""Checks that clang-format 14 with the project's .clang-format changes nothing."""

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

FILES_A_RUN = 20


def check(tree):
    program = shutil.which("clang-format-14")
    if not program:
        return ["format: no clang-format-14 on the path (apt-get install clang-format-14)"]
    files = tree.code
    batches = [files[i:i + FILES_A_RUN] for i in range(0, len(files), FILES_A_RUN)]

    def run(batch):
        return subprocess.run([program, "--dry-run", "--Werror", *batch], cwd=tree.root,
                              capture_output=True, text=True).stderr

    with ThreadPoolExecutor(2) as pool:
        output = "".join(pool.map(run, batches))
    places = re.findall(r"^([^\s:]+):(\d+):\d+: error: code should be clang-formatted", output,
                        re.MULTILINE)
    first_line = {}
    for path, line in places:
        first_line.setdefault(path, line)
    return [f"{path}:{line}: format differs; run: clang-format-14 -i {path}"
            for path, line in sorted(first_line.items())]
