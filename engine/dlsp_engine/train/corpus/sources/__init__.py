"""Registries: each gives the packages of a list of names, in order, and deletes what it downloaded."""
