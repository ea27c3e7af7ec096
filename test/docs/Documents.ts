import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import GithubSlugger from "github-slugger"
import MarkdownIt from "markdown-it"

/** The project's directory. */
export const root = fileURLToPath(new URL("../..", import.meta.url))

/** A fenced block of code. */
export interface Block {
  readonly language: string
  readonly text: string
  readonly line: number
  /** Why no test runs it: `<!-- not run: REASON -->` in front of the block. */
  readonly notRun: string | null
  /**
   * Commands that readers don't see and that a test runs first: `<!-- before: COMMANDS -->` in front of the
   * block.
   */
  readonly before: string
}

/** A text and the line on which it stands, or on which its paragraph begins. */
export interface Place {
  readonly text: string
  readonly line: number
}

/** A file in Markdown. */
export interface Page {
  /** Relative to the project. */
  readonly path: string
  readonly anchors: ReadonlySet<string>
  readonly links: ReadonlyArray<Place>
  readonly blocks: ReadonlyArray<Block>
  /** Code within a sentence or a cell. */
  readonly code: ReadonlyArray<Place>
}

const parser = new MarkdownIt({ html: true })

const directive = (comment: string, name: string): string | null =>
  new RegExp(`^<!--\\s*${name}:\\s*([\\s\\S]*?)\\s*-->`).exec(comment)?.[1] ?? null

/** Reads one page. */
export const pageOf = (path: string, text: string): Page => {
  const slugger = new GithubSlugger()
  const anchors = new Set<string>()
  const links: Array<Place> = []
  const blocks: Array<Block> = []
  const code: Array<Place> = []
  const tokens = parser.parse(text, {})
  const comments: Array<string> = []
  let line = 1
  for (const [index, token] of tokens.entries()) {
    if (token.map) line = token.map[0] + 1
    if (token.type === "html_block") comments.push(...token.content.split(/(?<=-->)\s*/))
    else if (token.type === "fence") {
      const found = (name: string) =>
        comments.map((comment) => directive(comment, name)).find((one) => one !== null)
      const [before, notRun] = [found("before") ?? "", found("not run") ?? null]
      blocks.push({ language: token.info.trim(), text: token.content, line, notRun, before })
    }
    if (token.type !== "html_block") comments.length = 0
    const children = token.children ?? []
    for (const child of children) {
      const target = child.attrGet(child.type === "image" ? "src" : "href")
      if (target !== null) links.push({ text: decodeURI(String(target)), line })
      if (child.type === "code_inline") code.push({ text: child.content, line })
    }
    if (tokens[index - 1]?.type === "heading_open")
      anchors.add(slugger.slug(children.map(({ content }) => content).join("")))
  }
  return { path, anchors, links, blocks, code }
}

const directories = ["docs", "examples", "deploy", ".github"]

const filesIn = (directory: string): ReadonlyArray<string> => {
  try {
    return readdirSync(join(root, directory), { recursive: true, encoding: "utf8" }).map(
      (name) => `${directory}/${name}`
    )
  } catch {
    return []
  }
}

/** Every page of the documentation, README.md first. */
export const pages = (): ReadonlyArray<Page> => {
  const paths = [...readdirSync(root), ...directories.flatMap(filesIn)].filter((path) => path.endsWith(".md"))
  const sorted = paths.toSorted(
    (a, b) => Number(b === "README.md") - Number(a === "README.md") || (a < b ? -1 : 1)
  )
  return sorted.map((path) => pageOf(path, readFileSync(join(root, path), "utf8")))
}

/** The path and line of a place, for a message. */
export const place = ({ path }: Page, { line }: { readonly line: number }): string => `${path}:${line}`
