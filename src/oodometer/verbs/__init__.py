"""Verbs: what a person asks for, one file a verb; the command line mirrors them one to one."""

from __future__ import annotations
