"""What the stored result says, as the table of the documentation."""

from __future__ import annotations

from typing import Any


def table(stored: dict[str, Any]) -> str:
    """Return the table as Markdown."""
    killed, files, disk = stored["kills"], stored["files"], stored["disk"]
    names = ", ".join(f"`{name}` {count}" for name, count in killed["by_command"].items())
    rows = [
        ("tried", "times", "what happened"),
        ("---", "---", "---"),
        (
            f"`SIGKILL` at a random moment, then the same command again ({names})",
            f"{killed['kills']} kills in {killed['chains']} chains",
            f"{killed['equal_ends']} of {killed['chains']} ends equal to the uncut command; no process left behind",
        ),
        (
            f"a damaged file of one of {files['kinds']} kinds",
            f"{files['files']} files",
            f"{files['tracebacks']} tracebacks, {files['wrong_results_accepted']} wrong results from files with a hash",
        ),
        (
            "a full disk at one write of `train` or `audit`, then the same command with room",
            f"{disk['writes']} writes",
            f"{disk['told_in_one_line']} errors of one line, {disk['equal_ends']} ends equal to the uncut command",
        ),
    ]
    return "\n".join(f"| {' | '.join(row)} |" if row[0] != "---" else "|---|---|---|" for row in rows)
