"""Corpora of tables for the data checks: honest ones, and ones with a mistake made on purpose."""
