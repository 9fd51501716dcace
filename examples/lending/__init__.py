"""A small lending library: members borrow books, late returns cost a fine."""
