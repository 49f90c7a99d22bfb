"""Units read far out, one by one: rays, half circles, steps on them, and one query per coordinate across a plane."""
