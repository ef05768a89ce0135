"""The colours of the course.

They keep a contrast of 3 with white and with a dark page, and stay apart for the colour-blind; lines also
differ in dash.
"""

BLUE, ORANGE, GREEN, PURPLE = "#2a6fdb", "#cc4e12", "#129e76", "#bd3f9c"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE)
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))
INK = "#010203"  # stands for the page's text colour: `svg.picture` replaces it by currentColor
