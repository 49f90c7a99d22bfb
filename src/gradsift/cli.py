"""Command line."""


def main() -> None:
    """Entry point."""
