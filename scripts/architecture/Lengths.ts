import { childrenOf, isFunction, lineOf, type Source, type SyntaxNode, type Violation } from "./Source.ts"

export const functionLinesMax = 70

const linesOf = (source: Source, node: SyntaxNode): number =>
  lineOf(source, node.end) - lineOf(source, node.start) + 1

const holdsFunction = (node: SyntaxNode): boolean => isFunction(node) || childrenOf(node).some(holdsFunction)

/** A function with a name of its own, by which its caller reads it: it counts for itself, not for what is around it. */
const isNamedFunction = (node: SyntaxNode): boolean =>
  (node.type === "FunctionDeclaration" || node.type === "VariableDeclarator" || node.type === "Property") &&
  holdsFunction(node)

/** The lines to read: named functions inside count as one line each. */
const ownLines = (source: Source, node: SyntaxNode): number => {
  const hidden = (below: SyntaxNode): number =>
    isNamedFunction(below)
      ? linesOf(source, below) - 1
      : childrenOf(below).reduce((sum, child) => sum + hidden(child), 0)
  return linesOf(source, node) - childrenOf(node).reduce((sum, child) => sum + hidden(child), 0)
}

const tooLong = (source: Source, node: SyntaxNode): ReadonlyArray<Violation> => {
  const below = childrenOf(node).flatMap((child) => tooLong(source, child))
  if (!isFunction(node) || ownLines(source, node) <= functionLinesMax) return below
  const line = lineOf(source, node.start)
  const message = `a function of ${ownLines(source, node)} lines; ${functionLinesMax} fit on a screen`
  return [{ path: source.path, line, rule: "function length", message }, ...below]
}

/** Functions that are too long to be read at once. oxlint counts the lines of files. */
export const checkLengths = (source: Source): ReadonlyArray<Violation> =>
  source.path.startsWith("test/") ? [] : tooLong(source, source.program)
