"""Asks, streams and continues a conversation with the openai package."""

import os

from openai import OpenAI

openai = OpenAI(
    base_url=os.environ.get("PARLEY_URL", "http://127.0.0.1:3000") + "/v1",
    api_key=os.environ["PARLEY_API_KEY"],
)
response = openai.responses.create(model="auto", input="Hello!")
print(response.output_text)

stream = openai.responses.create(
    model="auto",
    input="And once more?",
    previous_response_id=response.id,
    stream=True,
)
for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="")
print()
