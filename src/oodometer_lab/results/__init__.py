"""Results of the lab's verbs: the records of shifted copies and of stress tests, and what they say."""
