// Asks and streams with LangChain, which must be set to the Responses API.
import { ChatOpenAI } from "@langchain/openai"

const model = new ChatOpenAI({
  model: "auto",
  useResponsesApi: true,
  apiKey: process.env.PARLEY_API_KEY,
  configuration: { baseURL: `${process.env.PARLEY_URL ?? "http://127.0.0.1:3000"}/v1` }
})
const answer = await model.invoke("Hello!")
console.log(answer.text)

for await (const chunk of await model.stream("And once more?")) process.stdout.write(chunk.text)
console.log()
