"""What was handed in: found, recognised, its answers matched with the assignment's cells, repaired."""
