"""`python -m orchestrator` is `dagwright`."""

from orchestrator.cli import main

main()
