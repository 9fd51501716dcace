"""How likely each site is, by fitted weights and by the model, and what is proposed of them."""
