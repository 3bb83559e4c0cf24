"""What a run came to, for people."""

from orchestrator.cli.view.text import cost_told, counted, dollars_told, listed, one_line, seconds_told, tokens_told
from orchestrator.events.figures import BudgetReport, Summary
from orchestrator.run import Answer
from registry.usage import Kind


def summary_lines(answer: Answer) -> list[str]:
    """The end of a run in a few lines: outcome, time, cost, what was reused, and the run's id."""
    return [_outcome(answer), *figure_lines(answer.summary), f"run {one_line(answer.run_id)}"]


def figure_lines(summary: Summary) -> list[str]:
    """What a run came to in figures: steps, their time, calls, the limits that it had, and what was reused."""
    reused = f"reused {summary.reused:,} of the steps and calls done before" if summary.reused else ""
    return [line for line in (_steps(summary), _step_time(summary), _calls(summary), _budget(summary), reused) if line]


def _outcome(answer: Answer) -> str:
    """With what it cost, where it cost anything."""
    cost = cost_told(answer.summary.usage)
    return f"{answer.outcome} in {seconds_told(answer.summary.wall_seconds)}" + (f", {cost}" if cost else "")


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


def _calls(summary: Summary) -> str:
    usage = summary.usage
    tokens = tokens_told(usage.tokens, exact=usage.exact)
    return f"{counted(usage.requests, 'model call')}, {counted(summary.tool_calls, 'tool call')}, {tokens}"


def _budget(summary: Summary) -> str:
    """What was spent of each limit, and whether the run came so near to one that it had to land."""
    budget = summary.budget
    if budget is None:
        return ""
    spent = ", ".join(_spent(summary, budget, kind) for kind in budget.limits.kinds)
    near = f"; it came near its limit of {'money' if budget.near == 'cost' else budget.near}" if budget.near else ""
    return f"budget: {spent}{near}"


def _spent(summary: Summary, budget: BudgetReport, kind: Kind) -> str:
    """Of what is not known in full the least, and what the run counted for it."""
    spent, limit, usage = getattr(budget.spent, kind), getattr(budget.limits, kind), summary.usage
    match kind:
        case "cost":
            told = (
                dollars_told(spent)
                if usage.cost_exact
                else f"{dollars_told(usage.cost, exact=False)} (counted as {dollars_told(spent)})"
            )
            return f"{told} of {dollars_told(limit)}"
        case "seconds":
            return f"{seconds_told(spent)} of {seconds_told(limit)}"
        case "tokens" if not usage.exact:
            return f"at least {usage.tokens:,} (counted as {spent:,}) of {limit:,} tokens"
        case _:
            return f"{spent:,} of {limit:,} {kind}"
