"""Registries: each yields the packages of a list of names, in order, and deletes what it has downloaded."""
