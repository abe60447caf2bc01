"""The nodes of the graph, one file per role, and the records, settings and resources that they share."""
