"""Schemes under real programs and real packets."""
