// Uploads a file, waits for its text, and asks about it.
import OpenAI, { toFile } from "openai"

const openai = new OpenAI({
  baseURL: `${process.env.PARLEY_URL ?? "http://127.0.0.1:3000"}/v1`,
  apiKey: process.env.PARLEY_API_KEY
})
const text = Buffer.from("A hotel may cost 190 euros per night.")
const file = await openai.files.create({ file: await toFile(text, "travel.txt"), purpose: "user_data" })
await openai.files.waitForProcessing(file.id)
const response = await openai.responses.create({
  model: "auto",
  input: [
    {
      role: "user",
      content: [
        { type: "input_file", file_id: file.id },
        { type: "input_text", text: "How much may a hotel cost?" }
      ]
    }
  ]
})
console.log(response.output_text)
await openai.files.delete(file.id)
