"""The lab of oodometer: what a person with live models needs. The core (``oodometer``) needs only their predictions.

Models that are trained and asked, shifts of what they are asked about, judges that are trained on right and wrong
answers, attributions, corpora, and the recipes of the five papers. Its verbs are called through ``oodometer``, from
Python and from the command line; the core finds them by the entry points of the package and never imports them itself.
"""
