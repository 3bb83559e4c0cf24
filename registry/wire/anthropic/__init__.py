"""The Messages API of Anthropic, both ways, without the sending."""
