"""Are recipes safe to run again? Exchanged inputs, mutated documents and answers."""
