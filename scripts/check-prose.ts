import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { sourceOf } from "./architecture/Source.ts"
import { commentsOf, isFragment } from "./prose/Comments.ts"
import { longLinesOfComment, longLinesOfPage } from "./prose/LineLengths.ts"
import { isHanging, testTitlesOf } from "./prose/TestTitles.ts"

/**
 * Counts comments that are no sentences, test titles that can't be read alone, and lines that are too long.
 */

const rules = ["fragment", "title", "line length"] as const

export type Rule = (typeof rules)[number]

export interface Finding {
  readonly rule: Rule
  readonly path: string
  readonly line: number
}

/** The share of all comments that may begin as fragments in any case. */
const fragmentShareMax = 0.04

const messages: Readonly<Record<Rule, string>> = {
  fragment:
    "a comment begins with its subject or verb, and not with of, what, for, where, as, by, those, whether, how",
  title: "the title of a test begins with its subject, so that it can be read alone",
  "line length": "lines of comments and pages have at most 110 characters"
}

const findingsAt = (rule: Rule, path: string, lines: ReadonlyArray<number>): ReadonlyArray<Finding> =>
  lines.map((line) => ({ rule, path, line }))

/** The findings in a TypeScript or JavaScript file, and how many comments it has. */
export const checkCode = (
  path: string,
  text: string
): { readonly comments: number; readonly findings: ReadonlyArray<Finding> } => {
  const source = sourceOf(path, text)
  const comments = commentsOf(source)
  const titles = path.startsWith("test/") ? testTitlesOf(source) : []
  const findings = [
    ...findingsAt(
      "fragment",
      path,
      comments.filter(isFragment).map(({ line }) => line)
    ),
    ...findingsAt(
      "title",
      path,
      titles.filter(({ title }) => isHanging(title)).map(({ line }) => line)
    ),
    ...findingsAt("line length", path, comments.flatMap(longLinesOfComment))
  ]
  return { comments: comments.length, findings }
}

/** The findings in a page of the documentation. */
export const checkPage = (path: string, text: string): ReadonlyArray<Finding> =>
  findingsAt("line length", path, longLinesOfPage(text))

const filesIn = (root: string, directory: string, pattern: RegExp): ReadonlyArray<string> =>
  readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => pattern.test(name) && !name.includes("node_modules/"))
    .map((name) => `${directory}/${name}`)

const pagesOf = (root: string): ReadonlyArray<string> => [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...filesIn(root, "docs", /\.md$/)
]

/** All findings in the project in this directory, and the number of its comments. */
export const checkProject = (root: string) => {
  const read = (path: string) => readFileSync(join(root, path), "utf8")
  const code = ["src", "test", "scripts"]
    .flatMap((directory) => filesIn(root, directory, /\.(tsx?|mjs)$/))
    .map((path) => checkCode(path, read(path)))
  return {
    comments: code.reduce((sum, { comments }) => sum + comments, 0),
    findings: [
      ...code.flatMap(({ findings }) => findings),
      ...pagesOf(root).flatMap((path) => checkPage(path, read(path)))
    ]
  }
}

/** The findings that count. Some comments may begin as fragments in any case. */
export const countedOf = (findings: ReadonlyArray<Finding>, comments: number): ReadonlyArray<Finding> => {
  const fragments = findings.filter(({ rule }) => rule === "fragment").length
  return fragments > comments * fragmentShareMax
    ? findings
    : findings.filter(({ rule }) => rule !== "fragment")
}

const self = fileURLToPath(import.meta.url)

if (process.argv[1] === self) {
  const { comments, findings } = checkProject(dirname(dirname(self)))
  const counted = countedOf(findings, comments)
  for (const { line, path, rule } of counted) console.error(`${path}:${line} ${rule}: ${messages[rule]}`)
  const counts = rules.map((rule) => `${rule} ${findings.filter((finding) => finding.rule === rule).length}`)
  console.log(`${comments} comments. Findings: ${counts.join(", ")}.`)
  process.exitCode = counted.length === 0 ? 0 : 1
}
