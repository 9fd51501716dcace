"""What constraints cost, and what they gain in steps."""
