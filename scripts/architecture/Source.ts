import { parseAst } from "vitest/node"

/** A node of the syntax tree, as far as the rules look at it. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** A file that the rules look at. `path` is relative to the project. */
export interface Source {
  readonly path: string
  readonly text: string
  readonly program: SyntaxNode
}

export interface Violation {
  readonly path: string
  readonly line: number
  readonly rule: string
  readonly message: string
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" &&
  value !== null &&
  "type" in value &&
  typeof value.type === "string" &&
  "start" in value

export const childrenOf = (node: SyntaxNode): ReadonlyArray<SyntaxNode> =>
  Object.values(node).flat().filter(isNode)

/** Visits a node and everything below it; `ancestors` begins with the nearest. */
export const visit = (
  node: SyntaxNode,
  look: (node: SyntaxNode, ancestors: ReadonlyArray<SyntaxNode>) => void,
  ancestors: ReadonlyArray<SyntaxNode> = []
): void => {
  look(node, ancestors)
  const below = [node, ...ancestors]
  for (const child of childrenOf(node)) visit(child, look, below)
}

export const sourceOf = (path: string, text: string): Source => {
  const program: unknown = parseAst(text, { lang: path.endsWith(".tsx") ? "tsx" : "ts" }, path)
  if (!isNode(program)) throw new Error(`${path} can't be parsed.`)
  return { path, text, program }
}

export const lineOf = (source: Source, offset: number): number =>
  source.text.slice(0, offset).split("\n").length

/** The name of an identifier, or of the member of an object; null for anything else. */
export const nameOf = (node: unknown): string | null => {
  if (!isNode(node)) return null
  const name = node["name"] ?? node["value"]
  return typeof name === "string" ? name : null
}

/**
 * `process.env`, `Date.now` and the like: the last two names of a chain. Null when the node isn't of that
 * shape.
 */
export const memberName = (node: unknown): string | null => {
  if (!isNode(node) || node.type !== "MemberExpression" || !isNode(node["object"])) return null
  const object = nameOf(node["object"]) ?? nameOf(node["object"]["property"])
  const property = nameOf(node["property"])
  return object === null || property === null ? null : `${object}.${property}`
}

export const isFunction = (node: SyntaxNode): boolean =>
  node.type === "FunctionDeclaration" ||
  node.type === "FunctionExpression" ||
  node.type === "ArrowFunctionExpression"
