"""Running submissions: a warm parent, a candidate and an examiner each, a verdict for each test."""
