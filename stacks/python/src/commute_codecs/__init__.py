"""Python's codec libraries, the messages they encode, and the exchanges that drivers make of both.

The codec runner (runner.py) and the drivers written in Python share this package.
"""
