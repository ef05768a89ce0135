"""What a student sees: a result, and its panel."""
