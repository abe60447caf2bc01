"""PowerDNS, an authoritative name server with an HTTP API: Debian `pdns-server` and `pdns-backend-sqlite3`."""
