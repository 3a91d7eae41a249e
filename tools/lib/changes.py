"""Which files differ from a commit."""

import subprocess


def changed_files(root, commit=None):
    """Paths from the root that differ from the commit, with those that git does not know yet; none where the commit is
    not there. By default from where the branch left main, on main from the commit before."""
    def git(*words):
        run = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        return run.stdout.split("\n") if run.returncode == 0 else [""]
    if not commit:
        head, main = (git("rev-parse", name)[0] for name in ("HEAD", "main"))
        commit = "HEAD^" if head == main else git("merge-base", "HEAD", "main")[0] or "HEAD"
    return {path for path in git("diff", "--name-only", commit) + git("ls-files", "--others", "--exclude-standard") if path}
