"""What students type as an answer: closed forms and orders of growth."""
