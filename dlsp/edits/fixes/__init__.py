"""Fixes of what other language servers report in the lines that the edit wrote, as sites.

A fix is a site only if there is one and only one: an unknown name that the project's files import in one way, or that
one name in scope is spelled almost like.
"""
