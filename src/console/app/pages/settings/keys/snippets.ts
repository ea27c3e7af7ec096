import { clientLines, keyVariable, type Snippet } from "./clientLines.ts"

/** The command that sets the variable in a shell. Keys have only letters, digits and underscores. */
export const exportCommand = (key: string): string => `export ${keyVariable}='${key}'`

/** Code by which programs use a key. `url`: the address of the service, without a slash at its end. */
export const snippets = (url: string): ReadonlyArray<Snippet> => [
  {
    name: "curl",
    code: clientLines.curl(url, `'{"model": "auto", "input": "Hello!"}'`).join("\n")
  },
  {
    name: "Node",
    code: [
      ...clientLines.node(url),
      `const response = await openai.responses.create({ model: "auto", input: "Hello!" })`,
      "console.log(response.output_text)"
    ].join("\n")
  },
  {
    name: "Python",
    code: [
      ...clientLines.python(url),
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
      `const parley = createOpenAI({ baseURL: "${url}/openai/v1", apiKey: process.env.${keyVariable} })`,
      `const { textStream } = streamText({ model: parley("auto"), prompt: "Hello!" })`,
      "for await (const text of textStream) process.stdout.write(text)"
    ].join("\n")
  }
]
