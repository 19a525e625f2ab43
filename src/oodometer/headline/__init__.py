"""Headline: from several estimates and the trials that judged them to one answer, its interval and its trust."""
