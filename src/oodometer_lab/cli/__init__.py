"""The commands of the lab; each file registers some, when one of them is typed or all are listed."""
