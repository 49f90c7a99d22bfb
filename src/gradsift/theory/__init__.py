"""The theory of the paper as numbers; imports none of the algorithms."""
