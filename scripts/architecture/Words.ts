import { basename } from "node:path"
import { roomOf } from "./Rooms.ts"
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

/** What is never read or called in src, and what to use in its place. */
const forbidden: ReadonlyArray<{ readonly name: RegExp; readonly instead: string }> = [
  { name: /^process\.env$/, instead: "AppConfig" },
  { name: /^console\./, instead: "Effect.log" },
  { name: /^Date\.now$/, instead: "Clock or DateTime" },
  { name: /^performance\.now$/, instead: "Clock" },
  { name: /^Math\.random$/, instead: "SecureRandom of effect/crypto" },
  { name: /^JSON\.parse$/, instead: "a Schema" },
  { name: /^Effect\.run(Promise|Sync|Fork|Callback)/, instead: "an Effect; only the entry points run one" },
  { name: /^(setTimeout|setInterval|setImmediate)$/, instead: "Effect.sleep or a Schedule" },
  { name: /^new Date$/, instead: "DateTime" }
]

const fileNames = /^(index|utils?|common|helpers?|misc|shared|types)\.|(Manager|Controller|Dto|Live)\.ts$/

/** The word that a node uses, if it uses one. */
const wordOf = (node: SyntaxNode): string | null => {
  if (node.type === "MemberExpression") return memberName(node)
  const callee = nameOf(node["callee"])
  if (callee === null) return null
  if (node.type === "CallExpression") return callee
  const isBare = Array.isArray(node["arguments"]) && node["arguments"].length === 0
  return node.type === "NewExpression" && isBare ? `new ${callee}` : null
}

const isInGenerator = (ancestors: ReadonlyArray<SyntaxNode>): boolean =>
  ancestors.find(isFunction)?.["generator"] === true

const isModuleState = (node: SyntaxNode, ancestors: ReadonlyArray<SyntaxNode>): boolean =>
  node.type === "VariableDeclaration" &&
  node["kind"] !== "const" &&
  (ancestors[0]?.type === "Program" || ancestors[0]?.type === "ExportNamedDeclaration")

const checkWords = (source: Source): ReadonlyArray<Violation> => {
  const violations: Array<Violation> = []
  const add = (node: SyntaxNode, rule: string, message: string) =>
    violations.push({ path: source.path, line: lineOf(source, node.start), rule, message })
  visit(source.program, (node, ancestors) => {
    const word = wordOf(node)
    const found = forbidden.find(({ name }) => word !== null && name.test(word))
    if (found !== undefined) add(node, "word", `${word} is not used here; use ${found.instead}`)
    if (node.type === "TryStatement" && node["handler"] !== null && isInGenerator(ancestors)) {
      add(node, "word", "try and catch in a generator; use Effect.try or Effect.catch")
    }
    if (isModuleState(node, ancestors)) add(node, "state", "a module keeps no state of its own")
  })
  return violations
}

const checkTests = (source: Source): ReadonlyArray<Violation> => {
  const violations: Array<Violation> = []
  visit(source.program, (node) => {
    const word = memberName(node)
    if (word === null || !/^(it|test|describe|effect)\.(only|skip|todo)$/.test(word)) return
    const message = `${word} leaves a test out`
    violations.push({ path: source.path, line: lineOf(source, node.start), rule: "test", message })
  })
  return violations
}

const checkName = ({ path }: Source): ReadonlyArray<Violation> =>
  fileNames.test(basename(path))
    ? [{ path, line: 1, rule: "name", message: "a file is named after the one thing that it holds" }]
    : []

/** Words that style rules out, and names of files that say nothing. */
export const checkStyle = (source: Source): ReadonlyArray<Violation> => [
  ...checkName(source),
  ...(roomOf(source.path) === null ? [] : checkWords(source)),
  ...(source.path.startsWith("test/") ? checkTests(source) : [])
]
