"""The proof of the first invariant: verified greedy output is the autoregressive one, whatever was drafted."""
