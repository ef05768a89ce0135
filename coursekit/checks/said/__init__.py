"""The locked sentences of the course's questions, one file an assignment; `coursekit release` writes them."""
