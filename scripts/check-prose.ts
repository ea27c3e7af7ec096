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

export type Rule = "fragment" | "title" | "line length"

export interface Finding {
  readonly rule: Rule
  readonly path: string
  readonly line: number
}

/**
 * Findings that are older than their rules. Lower a number when you have mended some, and never raise one. In any
 * case 4 % of the comments may begin as fragments.
 */
const allowed: Readonly<Record<Rule, number>> = { fragment: 1815, title: 0, "line length": 1051 }

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

/** How many findings of a rule the project may have. */
export const allowedOf = (rule: Rule, comments: number): number =>
  Math.max(allowed[rule], rule === "fragment" ? Math.floor(comments * fragmentShareMax) : 0)

const self = fileURLToPath(import.meta.url)

if (process.argv[1] === self) {
  const { comments, findings } = checkProject(dirname(dirname(self)))
  console.log(`${comments} comments`)
  for (const rule of ["fragment", "title", "line length"] as const) {
    const found = findings.filter((finding) => finding.rule === rule)
    const most = allowedOf(rule, comments)
    console.log(`${rule}: ${found.length}, and at most ${most} are allowed`)
    if (found.length <= most) continue
    for (const { line, path } of found) console.error(`${path}:${line} ${rule}: ${messages[rule]}`)
    process.exitCode = 1
  }
}
