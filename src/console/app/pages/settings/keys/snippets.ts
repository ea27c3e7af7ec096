export interface Snippet {
  readonly name: string
  readonly code: string
}

/** The variable that every snippet reads the key from, so that no program contains it. */
const variable = "PARLEY_API_KEY"

/** The command that sets the variable in a shell. Keys have only letters, digits and underscores. */
export const exportCommand = (key: string): string => `export ${variable}='${key}'`

/** How programs use a key. `url`: the address of the service, without a slash at its end. */
export const snippets = (url: string): ReadonlyArray<Snippet> => [
  {
    name: "curl",
    code: [
      `curl -N ${url}/v1/responses \\`,
      `  -H "Authorization: Bearer $${variable}" \\`,
      `  -H "Content-Type: application/json" \\`,
      `  -d '{"model": "auto", "input": "Hello!"}'`
    ].join("\n")
  },
  {
    name: "Node",
    code: [
      "// npm install openai",
      `import OpenAI from "openai"`,
      "",
      `const openai = new OpenAI({ baseURL: "${url}/openai/v1", apiKey: process.env.${variable} })`,
      `const response = await openai.responses.create({ model: "auto", input: "Hello!" })`,
      "console.log(response.output_text)"
    ].join("\n")
  },
  {
    name: "Python",
    code: [
      "# pip install openai",
      "import os",
      "from openai import OpenAI",
      "",
      `openai = OpenAI(base_url="${url}/openai/v1", api_key=os.environ["${variable}"])`,
      `response = openai.responses.create(model="auto", input="Hello!")`,
      "print(response.output_text)"
    ].join("\n")
  },
  {
    name: "AI SDK",
    code: [
      "// npm install ai @ai-sdk/openai",
      `import { createOpenAI } from "@ai-sdk/openai"`,
      `import { streamText } from "ai"`,
      "",
      `const parley = createOpenAI({ baseURL: "${url}/openai/v1", apiKey: process.env.${variable} })`,
      `const { textStream } = streamText({ model: parley("auto"), prompt: "Hello!" })`,
      "for await (const text of textStream) process.stdout.write(text)"
    ].join("\n")
  }
]
