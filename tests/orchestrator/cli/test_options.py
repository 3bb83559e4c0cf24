"""What the command line said, said again."""

from pathlib import Path

from orchestrator.cli.options import Options


def test_the_next_command_is_for_the_same_settings() -> None:
    """Words are quoted where a shell would take them apart, and the settings file is named again."""
    assert "dagwright resume r" == Options().next_command("resume", "r")
    assert "dagwright answer r 'a b' --config 'my s.toml'" == Options(config=Path("my s.toml")).next_command("answer", "r", "a b")
