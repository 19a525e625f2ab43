"""Text: classifiers of sequences and pairs, from a bag of words to a pretrained encoder."""
