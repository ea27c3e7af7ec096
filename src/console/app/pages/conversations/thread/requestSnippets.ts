import type { ProjectId } from "../../../../../domain/Ids.ts"
import { clientLines, type Snippet } from "../../settings/keys/clientLines.ts"
import type { Question } from "./question.ts"

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The question and its surroundings. */
export interface Request {
  readonly question: Question
  readonly instructions: string | null
  readonly projectId: ProjectId | null
}

/** Uploaded files come before the text. An image that was only shown in the browser is none of them. */
const inputOf = ({ attachments, text }: Question) => {
  const files = attachments.filter((attachment) => "file_id" in attachment)
  if (files.length === 0) return text
  const texts = text === "" ? [] : [{ type: "input_text", text }]
  return [{ role: "user", content: [...files, ...texts] }]
}

/** Programs that ask a question. `url`: the address of the service, without a slash at its end. */
export const requestSnippets = (
  url: string,
  { instructions, projectId, question }: Request
): ReadonlyArray<Snippet> => {
  const instructed = instructions === null ? {} : { instructions }
  const input = inputOf(question)
  const fields = { ...instructed, ...(projectId === null ? {} : { project_id: projectId }), input }
  const searching = { tools: [{ type: "file_search", vector_store_ids: [projectId] }] }
  const ofLibrary = { ...instructed, ...(projectId === null ? {} : searching), input }
  const lines = Object.entries(ofLibrary).map(([name, value]) => [name, JSON.stringify(value)] as const)
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
