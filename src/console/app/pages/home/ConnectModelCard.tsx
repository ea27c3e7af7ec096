import { Card } from "../../ui/Card.tsx"
import { CodeBlock } from "../../ui/CodeBlock.tsx"

/** The settings of README.md. */
const servers = [
  { name: "OpenAI", settings: "OPENAI_API_KEY=…" },
  { name: "vLLM", settings: "OPENAI_BASE_URL=http://127.0.0.1:8000/v1" },
  { name: "Ollama", settings: "OPENAI_BASE_URL=http://127.0.0.1:11434/v1" },
  { name: "llama.cpp", settings: "OPENAI_BASE_URL=http://127.0.0.1:8080/v1" }
]

/** The card for operators of the installation. */
export const ConnectModelCard = () => (
  <Card
    description="Until then the built-in demo model answers: a small program, and not a language model."
    title="Connect a real model"
  >
    <ol className="list-decimal space-y-4 pl-5 marker:text-muted">
      <li>
        <p className="mb-3">
          Put the line for your model server into the file <code className="font-mono text-sm">.env</code> in
          the directory of the service, or into its environment:
        </p>
        <div className="grid grid-cols-1 gap-3 md:grid-cols-2">
          {servers.map(({ name, settings }) => (
            <CodeBlock code={settings} key={name} label={name} />
          ))}
        </div>
        <p className="mt-3 text-muted">
          For Anthropic, or for several servers at once, name a catalog of models in{" "}
          <code className="font-mono text-sm">PARLEY_MODELS_FILE</code>: docs/models.md shows one.
        </p>
      </li>
      <li>Restart the service.</li>
      <li>
        Ask again. If something is wrong, <code className="font-mono text-sm">npx parley doctor</code> says
        what to do.
      </li>
    </ol>
  </Card>
)
