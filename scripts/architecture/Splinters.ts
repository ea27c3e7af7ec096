import { dirname, posix } from "node:path"
import { nameOf, type Source, visit, type Violation } from "./Source.ts"

/** A shorter file belongs into its importer, unless another room or a second file imports it too. */
export const fileLinesMin = 60

/** The rooms without the browser's part, each page of which is a file that is loaded when it is opened. */
const isCounted = (path: string): boolean =>
  path.startsWith("src/") && !path.startsWith("src/console/app/") && dirname(path) !== "src"

const roomOf = (path: string): string | undefined => path.split("/")[1]

/** The files of the project that a file names in its imports and exports. */
const importsOf = ({ path, program }: Source): ReadonlySet<string> => {
  const found = new Set<string>()
  visit(program, (node) => {
    const module = /^(Import|Export)/.test(node.type) ? nameOf(node["source"]) : null
    if (module?.startsWith(".") === true) found.add(posix.join(dirname(path), module))
  })
  return found
}

/** Short files whose only importer is in their own room. */
export const checkSplinters = (sources: ReadonlyArray<Source>): ReadonlyArray<Violation> => {
  const importers = new Map<string, ReadonlyArray<string>>()
  for (const source of sources.filter(({ path }) => path.startsWith("src/"))) {
    for (const path of importsOf(source)) importers.set(path, [...(importers.get(path) ?? []), source.path])
  }
  return sources.flatMap(({ path, text }): ReadonlyArray<Violation> => {
    const [importer, ...others] = importers.get(path) ?? []
    const lines = text.trimEnd().split("\n").length
    if (!isCounted(path) || lines >= fileLinesMin || importer === undefined || others.length > 0) return []
    if (roomOf(importer) !== roomOf(path)) return []
    const message = `a file of ${lines} lines that only ${importer} imports; it belongs there`
    return [{ path, line: 1, rule: "splinter", message }]
  })
}
