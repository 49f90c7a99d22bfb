"""What a person sees: figures, the report of a run, and a page to play with."""
