"""How long things take, beside a peer in the same run."""
