"""What undoes a change, and the calls that reverse the changes of a thread."""
