"""What touches the outside: models, requests, responses, the sandbox."""
