import type { Schema, SchemaAST, SchemaIssue } from "effect"

/**
 * The place where a value failed its schema, and what was expected there. The message never quotes the value.
 */
export interface FieldProblem {
  /** A path such as `input[0].content[1].text`; "" for the whole body. */
  readonly param: string
  readonly message: string
}

export type Path = ReadonlyArray<PropertyKey>

interface Finding {
  readonly path: Path
  readonly expected: string | null
  readonly missing: boolean
}

/** Deeper than any schema of the contract. */
const depthMax = 100

export const renderPath = (path: Path): string =>
  path.reduce<string>(
    (text, key) =>
      typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`,
    ""
  )

const expectedOf = (annotated: {
  readonly annotations?: { readonly [key: string]: unknown } | undefined
}) => {
  const expected = annotated.annotations?.["expected"]
  return typeof expected === "string" ? expected : null
}

/** Words for plain types; an `expected` annotation of a schema overrides them. */
const typeNames: { readonly [Tag in SchemaAST.AST["_tag"]]?: string } = {
  String: "a string",
  Number: "a number",
  Boolean: "true or false",
  Null: "null",
  Objects: "an object",
  Arrays: "a list"
}

/** Says what a schema allows; null if a few words don't suffice. */
const wordsOf = (ast: SchemaAST.AST): string | null => {
  const expected = expectedOf(ast)
  if (expected !== null) return expected
  // The client needs to know the encoded type, not the decoded one.
  const encoded = ast.encoding?.at(-1)?.to
  if (encoded !== undefined) return wordsOf(encoded)
  const name = typeNames[ast._tag]
  if (name !== undefined) return name
  if (ast._tag === "Literal") return `"${ast.literal}"`
  if (ast._tag !== "Union") return null
  const members = ast.types.filter((member) => member._tag !== "Undefined").map(wordsOf)
  return members.length === 0 || members.includes(null) ? null : [...new Set(members)].join(" or ")
}

/** A branch of a union that fails at its discriminator is not the one that the client meant. */
const failsAtType = (finding: Finding, base: Path): boolean =>
  finding.path.length === base.length + 1 && finding.path[base.length] === "type"

const isLiteral = (ast: SchemaAST.AST): boolean =>
  ast._tag === "Literal" || (ast._tag === "Union" && ast.types.every(isLiteral))

/** True if all branches of a union have a literal at this key, which tells them apart. */
const tellsApart = (key: PropertyKey, { types }: SchemaAST.Union): boolean =>
  types.every(
    (member) =>
      member._tag === "Objects" &&
      member.propertySignatures.some(({ name, type }) => name === key && isLiteral(type))
  )

/** True if none of the branches of a union is meant. */
const isNone = (findings: ReadonlyArray<Finding>, base: Path, union: SchemaAST.Union): boolean =>
  findings.length > 0 &&
  findings.every(({ missing, path }) => {
    const key = path.at(-1)
    return !missing && path.length === base.length + 1 && key !== undefined && tellsApart(key, union)
  })

const pick = (findings: ReadonlyArray<Finding>, base: Path): Finding => {
  const meant = findings.filter((finding) => !failsAtType(finding, base))
  // The most general branch comes last.
  const pool = meant.length > 0 ? meant : findings.toReversed()
  return pool.reduce((best, next) => (next.path.length > best.path.length ? next : best))
}

const walk = (issue: SchemaIssue.Issue, path: Path, depth: number): Finding => {
  const here: Finding = { path, expected: null, missing: false }
  if (depth > depthMax) return here
  switch (issue._tag) {
    case "Pointer":
      return walk(issue.issue, [...path, ...issue.path], depth + 1)
    case "Filter": {
      const inner = walk(issue.issue, path, depth + 1)
      return inner.path.length > path.length ? inner : { ...here, expected: expectedOf(issue.filter) }
    }
    case "Encoding":
      return walk(issue.issue, path, depth + 1)
    case "Composite":
    case "AnyOf": {
      const findings = issue.issues.map((inner) => walk(inner, path, depth + 1))
      if (issue._tag === "AnyOf" && isNone(findings, path, issue.ast)) {
        const expected = expectedOf(issue.ast)
        if (expected !== null) return { ...here, expected }
      }
      if (findings.length > 0) {
        const best = pick(findings, path)
        if (best.path.length > path.length || best.expected !== null) return best
      }
      return { ...here, expected: wordsOf(issue.ast) }
    }
    case "InvalidType":
      return { ...here, expected: wordsOf(issue.ast) }
    case "MissingKey":
      return { ...here, missing: true }
    default:
      return here
  }
}

export const findingOf = (error: Schema.SchemaError): Finding => walk(error.issue, [], 0)

/** The most helpful problem: in a union, the deepest one of the branch that the client meant. */
export const fieldProblem = (error: Schema.SchemaError): FieldProblem => {
  const finding = findingOf(error)
  const param = renderPath(finding.path)
  const name = param === "" ? "The request body" : `\`${param}\``
  if (finding.missing) return { param, message: `${name} is missing.` }
  return {
    param,
    message: finding.expected === null ? `${name} is not valid.` : `${name} must be ${finding.expected}.`
  }
}
