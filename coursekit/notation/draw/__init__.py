"""Drawing: a cell's graph and the unrolled network, as SVG (`drawing`)."""
