import { basename } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { isFunction, lineOf, nameOf, type Source, type SyntaxNode, visit, type Violation } from "./Source.ts"

const fileNames = /^(index|utils?|common|helpers?|misc|shared|types)\.|(Manager|Controller|Dto|Live)\.ts$/

const isCurrentDate = (node: SyntaxNode): boolean =>
  node.type === "NewExpression" &&
  nameOf(node["callee"]) === "Date" &&
  Array.isArray(node["arguments"]) &&
  node["arguments"].length === 0

const isInGenerator = (ancestors: ReadonlyArray<SyntaxNode>): boolean =>
  ancestors.find(isFunction)?.["generator"] === true

const isModuleState = (node: SyntaxNode, ancestors: ReadonlyArray<SyntaxNode>): boolean =>
  node.type === "VariableDeclaration" &&
  node["kind"] !== "const" &&
  (ancestors[0]?.type === "Program" || ancestors[0]?.type === "ExportNamedDeclaration")

/** The packages that src and migrations may import; domain imports effect only. */
const isAllowedPackage = (path: string, module: string): boolean => {
  if (module.startsWith(".")) return true
  const names = path.startsWith("src/domain/") ? ["effect"] : Object.keys(manifest.dependencies)
  return (
    (module.startsWith("node:") && !path.startsWith("src/domain/")) ||
    (names.some((name) => module === name || module.startsWith(`${name}/`)) &&
      // Older than Effect 4.1.
      !module.startsWith("effect/unstable"))
  )
}

/** Names of files that say nothing, and what oxlint can't find in src and migrations. */
export const checkWords = (source: Source): ReadonlyArray<Violation> => {
  const { path } = source
  const violations: Array<Violation> = []
  if (fileNames.test(basename(path))) {
    violations.push({
      path,
      line: 1,
      rule: "name",
      message: "a file is named after the one thing that it holds"
    })
  }
  if (!/^(src|migrations)\//.test(path)) return violations
  visit(source.program, (node, ancestors) => {
    const add = (rule: string, message: string) =>
      violations.push({ path, line: lineOf(source, node.start), rule, message })
    const module = /^(Import|Export)/.test(node.type) ? nameOf(node["source"]) : null
    if (module !== null && !isAllowedPackage(path, module)) {
      add("package", `${module} is no package that may be imported here`)
    }
    if (isCurrentDate(node)) add("word", "new Date is not used here; use DateTime")
    if (node.type === "TryStatement" && node["handler"] !== null && isInGenerator(ancestors)) {
      add("word", "try and catch in a generator; use Effect.try or Effect.catch")
    }
    if (isModuleState(node, ancestors)) add("state", "a module keeps no state of its own")
  })
  return violations
}
