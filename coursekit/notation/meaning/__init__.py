"""What a system of equations means, without torch: its sizes, what it reads, its numbers."""
