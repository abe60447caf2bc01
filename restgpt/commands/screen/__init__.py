"""What commands print and ask on a terminal."""
