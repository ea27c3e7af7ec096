import { clientLines, type Snippet } from "../../settings/keys/clientLines.ts"

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
      code: clientLines.curl(url, shellQuoted(JSON.stringify(fields))).join("\n")
    },
    {
      name: "Node",
      code: [
        ...clientLines.node(url),
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
        ...clientLines.python(url),
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
