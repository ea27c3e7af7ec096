// Streams an answer with the AI SDK.
import { createOpenAI } from "@ai-sdk/openai"
import { streamText } from "ai"

const parley = createOpenAI({
  baseURL: `${process.env.PARLEY_URL ?? "http://127.0.0.1:3000"}/v1`,
  apiKey: process.env.PARLEY_API_KEY
})
const { textStream } = streamText({ model: parley("auto"), prompt: "Hello!" })
for await (const text of textStream) process.stdout.write(text)
console.log()
