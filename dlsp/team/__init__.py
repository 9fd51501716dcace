"""One server for a team: the models of `dlsp` on Ray Serve, on one machine or on a cluster."""
