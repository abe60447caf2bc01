"""Guards: they compare a run of a recipe with the document and with the saved run."""
