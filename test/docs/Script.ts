import type { Block, Page } from "./Documents.ts"

/** Written to the standard error before a block runs, to know which one failed. */
const mark = "\u001e"

/** Variables that the hidden commands of a page set. */
const assigned = (page: Page): ReadonlyArray<string> =>
  page.blocks.flatMap(({ before }) => [...before.matchAll(/^([A-Z][A-Z_]+)=/gm)].map(([, name = ""]) => name))

/** True if a test runs the block. */
export const isRun = ({ language, notRun }: Block): boolean => language === "sh" && notRun === null

/**
 * A page's commands as one script for bash, which ends at the first that fails. The address of the
 * documentation becomes the service's own, and a word in capitals that a `before` sets, such as KEY_ID,
 * becomes its value.
 */
export const scriptOf = (page: Page, url: string): string => {
  const names = assigned(page)
  const values = (text: string) =>
    names.reduce(
      (found, name) => found.replaceAll(new RegExp(`(?<![\\w$\\{])${name}(?![\\w=])`, "g"), `$${name}`),
      text.replaceAll(/http:\/\/(127\.0\.0\.1|localhost):3000/g, url)
    )
  const parts = page.blocks
    .filter(isRun)
    .map(({ before, line, text }) => [`printf '${mark}%s\\n' ${line} >&2`, before, values(text)].join("\n"))
  return ["set -eo pipefail", ...parts, ""].join("\n")
}

/** The line of the block that ran last, and what was written to the standard error since it began. */
export const lastBlock = (stderr: string): { readonly line: number; readonly text: string } => {
  const [line = "0", ...text] = (stderr.split(mark).at(-1) ?? "").split("\n")
  return { line: Number(line), text: text.join("\n").trim() }
}

/** The command lines of a block, continued lines joined, as far as they call `npx parley`. */
export const parleyCalls = (text: string): ReadonlyArray<string> =>
  text
    .replaceAll(/ *\\\n\s*/g, " ")
    .split("\n")
    .flatMap((line) =>
      [...line.replace(/\s#.*$/, "").matchAll(/\bnpx parley (.*?)(?=$|[|;&><)])/g)].map(([, call = ""]) =>
        call.trim()
      )
    )
