"""Training on a machine that is lent for half an hour: README.md beside this is the queue."""
