"""The rules of `doctor`: facts about the client, the broker, and the topics in, findings out.

`facts` gathers the facts.
"""
