"""Two turns of one conversation, by which an agent is tried: the model says the word of the first again in the second."""

BRANCHES = [
    {"match": r"Remember the word cobalt", "steps": [{"text": "ready"}]},
    {"match": r"Which word were you to remember", "steps": [{"text": "cobalt"}]},
]
