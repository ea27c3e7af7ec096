import { inTurn } from "./inTurn.ts"

/** Longer code is shown without colors. */
const charactersMax = 50_000

const aliases: Readonly<Record<string, string>> = {
  bash: "bash",
  sh: "bash",
  shell: "bash",
  zsh: "bash",
  console: "bash",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  ts: "typescript",
  tsx: "typescript",
  py: "python",
  html: "xml",
  svg: "xml",
  yml: "yaml",
  md: "markdown",
  rs: "rust",
  rb: "ruby",
  cs: "csharp",
  "c++": "cpp",
  kt: "kotlin",
  golang: "go",
  jsonc: "json",
  docker: "dockerfile"
}

const loadHighlighter = async () => (await import("highlight.js/lib/common")).default

/** The code as HTML with classes for its parts; null for a language that isn't known. */
export const highlight = async (code: string, language: string): Promise<string | null> => {
  const name = language.toLowerCase()
  if (name === "" || code.length > charactersMax) return null
  const api = await loadHighlighter()
  const known = aliases[name] ?? name
  if (api.getLanguage(known) === undefined) return null
  return inTurn(() => api.highlight(code, { language: known, ignoreIllegals: true }).value)
}
