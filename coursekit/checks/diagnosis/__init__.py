"""What is wrong with an answer that is not right."""
