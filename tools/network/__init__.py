"""The connections that requests go over: addresses, TLS, compression, exceptions."""
