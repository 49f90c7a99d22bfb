"""Networks of many units: equations solved unit by unit, and units that a joint fit speaks against."""
