// Asks, streams and continues a conversation with the openai package.
import OpenAI from "openai"

const openai = new OpenAI({
  baseURL: `${process.env.PARLEY_URL ?? "http://127.0.0.1:3000"}/v1`,
  apiKey: process.env.PARLEY_API_KEY
})
const response = await openai.responses.create({ model: "auto", input: "Hello!" })
console.log(response.output_text)

const stream = await openai.responses.create({
  model: "auto",
  input: "And once more?",
  previous_response_id: response.id,
  stream: true
})
for await (const event of stream) {
  if (event.type === "response.output_text.delta") process.stdout.write(event.delta)
}
console.log()
