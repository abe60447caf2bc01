"""Text as it is shown, kept or let out: quoted, without secrets, without what a store rejects."""
