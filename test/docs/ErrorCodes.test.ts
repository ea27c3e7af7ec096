import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { root } from "./Documents.ts"

const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** Files that make failures. */
const sources = ["src/api/Failure.ts", "src/api/Refusal.ts"].map(read).join("\n")

/** Words like codes that are none: types of errors, reasons within the service, and fields. */
const others =
  /^(?!internal_)\w+_error$|^(invalid_token|bad_request|content_refused|context_length|rate_limited|other_header|files_to)$|^\w+_id$/

const codes = [
  ...new Set([...sources.matchAll(/"([a-z]+(?:_[a-z]+)+)"/g)].map(([, code = ""]) => code))
].filter((code) => !others.test(code))

const page = read("docs/api.md")

/** The codes that the page has, as often as it has them. */
const listed = [
  ...page
    .slice(page.indexOf("\n## Errors"), page.indexOf("**Retired codes**"))
    .matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)
].map(([, code = ""]) => code)

it("docs/api.md lists every error code, and none that doesn't exist", () => {
  assert.isAbove(codes.length, 60)
  assert.deepStrictEqual(
    [...new Set(listed)].toSorted(),
    codes.toSorted(),
    "add the code to the table of docs/api.md; one that is no longer used belongs to its retired codes, and to those of src/api/Failure.ts"
  )
})

it("docs/api.md lists each error code once, in one row of the table or below it", () => {
  assert.deepStrictEqual(
    listed.filter((code, index) => listed.indexOf(code) !== index),
    []
  )
})
