"""The modules of a program that run inside the sandbox worker; they import only each other and the standard library."""
