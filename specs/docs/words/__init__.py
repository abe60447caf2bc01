"""The words of a document: which sentences and fields matter to a plan."""
