"""How the time grows as work grows: by context, by gap, by sites, by users, in each mode and beside the peers."""
