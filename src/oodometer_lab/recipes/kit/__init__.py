"""The kit: what every recipe needs once its numbers are there: tables, claims, figures, publishing."""
