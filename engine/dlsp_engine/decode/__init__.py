"""From logits to text: sessions, the three modes, what ends a gap."""
