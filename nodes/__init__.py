"""The nodes of the graph, one file per node, and the records, settings and resources that they share."""
