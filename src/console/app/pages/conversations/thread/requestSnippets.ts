import type { Snippet } from "../../settings/keys/snippets.ts"

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Programs that ask a question. `url`: the address of the service, without a slash at its end. */
export const requestSnippets = (
  url: string,
  question: string,
  instructions: string | null
): ReadonlyArray<Snippet> => {
  const fields = { ...(instructions === null ? {} : { instructions }), input: question }
  const lines = Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)] as const)
  return [
    {
      name: "curl",
      code: [
        `curl -N ${url}/v1/responses \\`,
        `  -H "Authorization: Bearer $PARLEY_API_KEY" \\`,
        `  -H "Content-Type: application/json" \\`,
        `  -d ${shellQuoted(JSON.stringify(fields))}`
      ].join("\n")
    },
    {
      name: "Node",
      code: [
        "// npm install openai",
        `import OpenAI from "openai"`,
        "",
        `const openai = new OpenAI({ baseURL: "${url}/openai/v1", apiKey: process.env.PARLEY_API_KEY })`,
        "const stream = await openai.responses.create({",
        `  model: "auto",`,
        ...lines.map(([name, value]) => `  ${name}: ${value},`),
        "  stream: true",
        "})",
        "for await (const event of stream)",
        `  if (event.type === "response.output_text.delta") process.stdout.write(event.delta)`
      ].join("\n")
    },
    {
      name: "Python",
      code: [
        "# pip install openai",
        "import os",
        "from openai import OpenAI",
        "",
        `openai = OpenAI(base_url="${url}/openai/v1", api_key=os.environ["PARLEY_API_KEY"])`,
        "stream = openai.responses.create(",
        `    model="auto",`,
        ...lines.map(([name, value]) => `    ${name}=${value},`),
        "    stream=True,",
        ")",
        "for event in stream:",
        `    if event.type == "response.output_text.delta":`,
        `        print(event.delta, end="", flush=True)`
      ].join("\n")
    }
  ]
}
