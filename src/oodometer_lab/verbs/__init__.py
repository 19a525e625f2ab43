"""The verbs of the lab: functions that ask models, shift what they are asked about, train judges."""
