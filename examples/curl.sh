#!/bin/sh
# Asks with curl: one JSON document, and the event stream.
set -eu

url=${PARLEY_URL:-http://127.0.0.1:3000}

curl --fail-with-body --silent --show-error "$url/v1/responses" \
  -H "Authorization: Bearer $PARLEY_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{"input": "Hello!", "stream": false}'
echo

curl --fail-with-body --silent --show-error --no-buffer "$url/v1/responses" \
  -H "Authorization: Bearer $PARLEY_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{"input": "And once more?"}'
