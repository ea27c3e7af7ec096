import {
  isFunction,
  lineOf,
  memberName,
  nameOf,
  type Source,
  type SyntaxNode,
  visit,
  type Violation
} from "./Source.ts"

/** With all that is inside of it. */
export const functionLinesMax = 70
/**
 * Bounds the generator of a layer, or of an exported `make…` that a layer uses: the methods of a service
 * stand side by side in it.
 */
export const layerLinesMax = 120

const isLayerCall = (node: SyntaxNode): boolean =>
  node.type === "CallExpression" &&
  /^(Layer\.\w+|HttpApiBuilder\.group)$/.test(memberName(node["callee"]) ?? "")

/** True for an argument of `Layer.effect` or the like, as it is or within `Effect.gen`. */
const makesLayer = (ancestors: ReadonlyArray<SyntaxNode>): boolean => {
  const around = ancestors.find((node) => node.type !== "CallExpression" || isLayerCall(node))
  return around !== undefined && isLayerCall(around)
}

/** True for the generator of an exported `make…`, which builds one part of a service. */
const buildsPart = (node: SyntaxNode, ancestors: ReadonlyArray<SyntaxNode>): boolean => {
  const around = ancestors.findIndex(({ type }) => type !== "CallExpression" && type !== "MemberExpression")
  return (
    node["generator"] === true &&
    /^make[A-Z]/.test(nameOf(ancestors[around]?.["id"]) ?? "") &&
    ancestors[around + 2]?.type === "ExportNamedDeclaration"
  )
}

/** Functions that are too long to be read at once. oxlint counts the lines of files. */
export const checkLengths = (source: Source): ReadonlyArray<Violation> => {
  const { path } = source
  if (path.startsWith("test/")) return []
  const violations: Array<Violation> = []
  visit(source.program, (node, ancestors) => {
    if (!isFunction(node)) return
    const line = lineOf(source, node.start)
    const count = lineOf(source, node.end) - line + 1
    const isLayer = makesLayer(ancestors) || buildsPart(node, ancestors)
    const [kind, max] = isLayer ? ["layer", layerLinesMax] : ["function", functionLinesMax]
    if (count <= max) return
    const message = `a ${kind} of ${count} lines; at most ${max} with all that is inside`
    violations.push({ path, line, rule: "function length", message })
  })
  return violations
}
