import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** The coding agents that are tested, and the recipes of docs/agents.md that they are run by. */

const root = new URL("../../", import.meta.url)

/** The directory in which `npm run test:agents` installs the agents. */
const packages = new URL("node_modules/", import.meta.url)

/**
 * The effect of a line of a recipe: it writes a file, resumes that session, shows the model a picture, or
 * waits for an editor that resumes the session by the Agent Client Protocol.
 */
export type Run = "write" | "resume" | "picture" | "acp"

export interface Agent {
  /** Its heading in docs/agents.md. */
  readonly name: string
  readonly command: string
  /** The path of its program below node_modules. */
  readonly program: string
  /** The path, below the home directory, of the file that the block of this language goes to. */
  readonly files: Readonly<Record<string, string>>
  /** The effects of those lines of the recipe that have a prompt, in their order. */
  readonly runs: ReadonlyArray<Run>
  /** The directory, below the home directory, that has an entry for each session, by its id. */
  readonly sessions?: string
  /** True if the agent has a tool that shows the model a picture. */
  readonly hasPictureTool: boolean
  /**
   * A text of the recipe's files and its replacement, because the agent's sandbox doesn't start in every
   * environment of the tests.
   */
  readonly replaced?: readonly [string, string]
}

const { arch, platform } = process
const baseline = arch === "x64" ? "-baseline" : ""

export const agents: ReadonlyArray<Agent> = [
  {
    name: "Codex",
    command: "codex",
    program: ".bin/codex",
    files: { toml: ".codex/config.toml" },
    runs: ["write", "resume", "picture"],
    hasPictureTool: true,
    replaced: ["workspace-write", "danger-full-access"]
  },
  {
    name: "OpenCode",
    command: "opencode",
    program: `opencode-${platform}-${arch}${baseline}/bin/opencode`,
    files: { json: ".config/opencode/opencode.json" },
    runs: ["write", "resume", "picture"],
    hasPictureTool: true
  },
  {
    name: "Continue",
    command: "cn",
    program: ".bin/cn",
    files: { yaml: ".continue/parley.yaml" },
    runs: ["write", "resume"],
    hasPictureTool: false
  },
  {
    name: "Qwen Code",
    command: "qwen",
    program: ".bin/qwen",
    files: { json: ".qwen/settings.json" },
    runs: ["write", "resume", "picture"],
    hasPictureTool: true
  },
  {
    name: "Cline",
    command: "cline",
    program: `@cline/cli-${platform}-${arch}/bin/cline`,
    files: { json: ".cline/data/settings/global-settings.json" },
    runs: ["write", "picture", "acp"],
    hasPictureTool: true,
    sessions: ".cline/data/sessions"
  },
  {
    name: "Claude Code",
    command: "claude",
    program: `@anthropic-ai/claude-code-${platform}-${arch}/claude`,
    files: {},
    runs: ["write", "resume"],
    hasPictureTool: true
  }
]

/** The file that the agent's command runs. */
export const programOf = ({ program }: Agent): string => fileURLToPath(new URL(program, packages))

/** Why an agent can't be run here; null where it can. */
export const skipReason = (agent: Agent): string | null => {
  if (!existsSync(programOf(agent)))
    return `test/agents/node_modules/${agent.program} isn't there; npm run test:agents installs it on Linux (x64, arm64, glibc).`
  return null
}

/** The setup and the commands of an agent, from docs/agents.md. */
export interface Recipe {
  /** The files to write: their paths below the home directory, and their texts. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly text: string }>
  /** Lines of the shell that come before each run: what is exported. */
  readonly exports: ReadonlyArray<string>
  /** Lines of the shell that are run once. */
  readonly setup: ReadonlyArray<string>
  /** The line of the shell for each run; it takes the prompt from `PROMPT`. */
  readonly lines: ReadonlyMap<Run, string>
}

const addressInDocs = "http://127.0.0.1:3000"
const block = /^```(\w+)\n(.*?)^```$/gms

const page = readFileSync(new URL("docs/agents.md", root), "utf8")

/** The recipe of an agent, for the service at this address. */
export const recipeOf = (agent: Agent, address: string): Recipe => {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${agent.name}\n`)) ?? ""
  const blocks = [...section.replaceAll(addressInDocs, address).matchAll(block)].map(
    ([, language = "", text = ""]) => ({ language, text })
  )
  const lines = blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ text }) => text.split("\n"))
    .filter((line) => line !== "" && !line.startsWith("#"))
  const [from, to] = agent.replaced ?? ["", ""]
  const prompted = lines.filter((line) => line.includes("$PROMPT") || line.endsWith(" --acp"))
  const exports = lines.filter((line) => line.startsWith("export "))
  return {
    files: blocks.flatMap(({ language, text }) => {
      const path = agent.files[language]
      return path === undefined ? [] : [{ path, text: text.replace(from, to) }]
    }),
    exports,
    setup: lines.filter((line) => !prompted.includes(line) && !exports.includes(line)),
    lines: new Map(agent.runs.flatMap((run, index) => (prompted[index] ? [[run, prompted[index]]] : [])))
  }
}
