import { basename, dirname, posix } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { isFunction, lineOf, nameOf, type Source, type SyntaxNode, visit, type Violation } from "./Source.ts"

const fileNames = /^(index|utils?|common|helpers?|misc|shared|types)\.|(Manager|Controller|Dto|Live)\.tsx?$/

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

const browserDirectory = "src/console/app/"

/**
 * Packages of the browser's part. The bundle of the service holds none of them, so that they are no
 * dependencies.
 */
const browserPackages = [
  "effect",
  "react",
  "react-dom",
  "@base-ui/react",
  "@tanstack/react-query",
  "@tanstack/react-router",
  "lucide-react",
  "@tanstack/react-virtual",
  "dompurify",
  "highlight.js",
  "highlight.js/lib/common",
  "katex",
  "marked",
  "uplot"
]

/** The packages that src and migrations may import; domain imports effect only. */
const packagesOf = (path: string): ReadonlyArray<string> => {
  if (path.startsWith("src/domain/")) return ["effect"]
  return path.startsWith(browserDirectory) ? browserPackages : Object.keys(manifest.dependencies)
}

const isAllowedPackage = (path: string, module: string): boolean => {
  if (module.startsWith(".")) return true
  const names = packagesOf(path)
  return (
    (module.startsWith("node:") && !/^src\/(domain|console\/app)\//.test(path)) ||
    (names.some((name) => module === name || module.startsWith(`${name}/`)) &&
      // Older than Effect 4.1.
      !module.startsWith("effect/unstable"))
  )
}

/**
 * True for a module that the browser's part may import from outside of it: contracts, which run in a browser
 * as well.
 */
const isContract = (path: string): boolean =>
  /^src\/(domain|api)\//.test(path) ||
  /^src\/admin\/(\w+(Api|Bodies)|Access)\.ts$/.test(path) ||
  /^src\/console\/(\w+Api|PagePaths)\.ts$/.test(path)

const leavesBrowser = (path: string, module: string): boolean => {
  if (!path.startsWith(browserDirectory) || !module.startsWith(".")) return false
  const target = posix.join(dirname(path), module)
  return !target.startsWith(browserDirectory) && !isContract(target)
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
    if (module !== null && leavesBrowser(path, module)) {
      add("browser", `${module} is no contract, and the browser runs nothing else from outside of its part`)
    }
    if (isCurrentDate(node)) add("word", "new Date is not used here; use DateTime")
    if (node.type === "TryStatement" && node["handler"] !== null && isInGenerator(ancestors)) {
      add("word", "try and catch in a generator; use Effect.try or Effect.catch")
    }
    if (isModuleState(node, ancestors)) add("state", "a module keeps no state of its own")
  })
  return violations
}
