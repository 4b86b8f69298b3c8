"""A provider that refuses whoever asks."""

BRANCHES = [
    {"match": r"Remember the word cobalt",
     "steps": [{"error": {"status": 401, "type": "authentication_error", "message": "invalid x-api-key"}}]},
]
