"""What a run's state holds: requests, steps, programs and recipes as records, and what the roles read of them."""
