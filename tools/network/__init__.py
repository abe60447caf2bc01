"""Network connections: allowed addresses, TLS, decompression, exceptions."""
