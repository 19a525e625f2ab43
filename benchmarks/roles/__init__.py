"""Tables as public tools write them, half of them with a trap: is each column read as what it is?"""
