"""What a run came to, for people."""

from orchestrator.cli.view.text import counted, listed, one_line, seconds_told, tokens_told
from orchestrator.events.facts import Summary
from orchestrator.run import Answer


def summary_lines(answer: Answer) -> list[str]:
    """The end of a run in a few lines: outcome, time, cost, what was reused, and the run's id."""
    summary = answer.summary
    lines = [
        f"{answer.outcome} in {seconds_told(summary.wall_seconds)}",
        _steps(summary),
        _step_time(summary),
        _cost(summary),
        f"reused {summary.reused:,} of the steps and calls done before" if summary.reused else "",
        f"run {one_line(answer.run_id)}",
    ]
    return [line for line in lines if line]


def _steps(summary: Summary) -> str:
    counts = {"succeeded": summary.succeeded, "failed": summary.failed, "skipped": summary.skipped}
    ends = ", ".join(f"{number} {end}" for end, number in counts.items() if number)
    return f"{counted(summary.steps, 'step')}: {ends}" if summary.steps else ""


def _step_time(summary: Summary) -> str:
    """Silent about what was won where nothing was, or where the step time of an earlier life is in the sum."""
    if not summary.steps:
        return ""
    beside = f"; side by side: {listed(list(summary.overlapped))}" if summary.overlapped else ""
    won = summary.step_seconds - summary.wall_seconds
    gain = f"; that won {seconds_told(won)}" if beside and won > 0 and not summary.reused else ""
    return f"step time {seconds_told(summary.step_seconds)}{beside}{gain}"


def _cost(summary: Summary) -> str:
    usage = summary.usage
    tokens = tokens_told(usage.tokens, exact=usage.exact)
    return f"{counted(usage.requests, 'model call')}, {counted(summary.tool_calls, 'tool call')}, {tokens}"
