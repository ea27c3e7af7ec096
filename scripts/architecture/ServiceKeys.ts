import { dirname } from "node:path"
import { lineOf, nameOf, type Source, type SyntaxNode, visit, type Violation } from "./Source.ts"

/** Keys such as `parley/usage/Usage`; `parley/api` is the name of a package's part. */
const key = /^parley\/.*\b[A-Z]\w*$/

/** The name of the class or constant around a node. */
const declaredName = (ancestors: ReadonlyArray<SyntaxNode>): string | null => {
  const around = ancestors.find(({ type }) => type === "ClassDeclaration" || type === "VariableDeclarator")
  return nameOf(around?.["id"])
}

/** Keys of services, references and middleware that aren't named for their folder and their name. */
export const checkServiceKeys = (source: Source): ReadonlyArray<Violation> => {
  const { path } = source
  if (!path.startsWith("src/")) return []
  const violations: Array<Violation> = []
  visit(source.program, (node, ancestors) => {
    const value = node.type === "Literal" ? node["value"] : null
    const name = declaredName(ancestors)
    const isArgument = ancestors[0]?.type === "CallExpression"
    if (typeof value !== "string" || !key.test(value) || !isArgument || name === null) return
    const expected = `parley/${dirname(path).slice("src/".length)}/${name}`
    if (value === expected) return
    const message = `the key is ${value}; its file and its name say ${expected}`
    violations.push({ path, line: lineOf(source, node.start), rule: "service key", message })
  })
  return violations
}
