"""What the stored result says, as the table of the documentation."""

from __future__ import annotations

from typing import Any


def table(stored: dict[str, Any]) -> str:
    """Return the table as Markdown."""
    killed, files, disk, ranks, nodes = (stored[part] for part in ("kills", "files", "disk", "ranks", "nodes"))
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
        (
            "`SIGKILL` of the first or the second process of a training in two, then the same command again",
            f"{ranks['ranks_killed']} kills",
            f"the other process ended within {ranks['slowest_end_seconds']:.0f} s; it said why in one line in "
            f"{ranks['told_in_one_line']} of {ranks['second_killed']} losses of the second; "
            f"{ranks['equal_ends']} ends equal to the uncut command",
        ),
        (
            f"one of {nodes['nodes']} nodes of a Ray cluster killed while {nodes['runs']} runs were trained",
            f"{nodes['nodes_killed']} node, {nodes['runs_cut']} run cut",
            f"{nodes['runs_lost']} runs lost, {nodes['runs_done_twice']} done twice, "
            f"{nodes['results_equal_to_uncut_runs']} results equal to uncut runs",
        ),
    ]
    return "\n".join(f"| {' | '.join(row)} |" if row[0] != "---" else "|---|---|---|" for row in rows)
