"""Edges between turns: what each turn states of others, and how statements meet."""
