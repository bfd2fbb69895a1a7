"""Measurements of a user's own archive or transcript: numbers in JSON, and a page that is made from that JSON alone."""
