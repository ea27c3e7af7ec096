import { Effect, Predicate, Record, Redacted, Schema } from "effect"
import type { FileProblem } from "../settings/JsonFile.ts"
import { absenceOf, secretVariable, VariableName } from "../settings/Setting.ts"
import type { Fields } from "./Protocol.ts"

/** The deepest nesting of objects and lists in the options. */
const levelsMax = 8

/** Names of options that hold a secret. The key of a prompt cache is no secret. */
const secretName = /(?<!cache_?)key|token|secret|passw|passphrase|authorization|credential|bearer|cookie/i

const isReference = Schema.is(Schema.Struct({ variable: VariableName }))

/** The secrets and problems found in options. */
export interface OptionsRead {
  readonly secrets: Array<Redacted.Redacted>
  readonly problems: Array<FileProblem>
}

/** The options with the values of their variables. */
export const readOptions = (options: Fields, path: string, read: OptionsRead): Effect.Effect<Fields> =>
  readFields(options, path, read, levelsMax)

/** Reads options by the names of providers. */
export const readOptionsByName = (
  options: Readonly<Record<string, Fields>>,
  path: string,
  read: OptionsRead
): Effect.Effect<Readonly<Record<string, Fields>>> =>
  Effect.all(Record.map(options, (fields, name) => readOptions(fields, `${path}.${name}`, read)))

const readFields = (fields: Fields, path: string, read: OptionsRead, levels: number): Effect.Effect<Fields> =>
  Effect.all(
    Record.map({ ...fields }, (value, name) => readValue(name, value, `${path}.${name}`, read, levels))
  )

const readValue = Effect.fnUntraced(function* (
  name: string,
  value: unknown,
  path: string,
  read: OptionsRead,
  levels: number
): Effect.fn.Return<unknown> {
  const problem = (message: string) => void read.problems.push({ path, message })
  if (isReference(value)) {
    const found = yield* secretVariable(value.variable)
    if (found.text === undefined) {
      problem(`Expected the name of a variable, but ${found.name} ${absenceOf(found)}`)
      return null
    }
    read.secrets.push(Redacted.make(found.text))
    return found.text
  }
  if (Predicate.isString(value) && secretName.test(name))
    problem('Expected { "variable": "NAME" }, because a secret belongs in a variable')
  if (!Predicate.isObjectOrArray(value)) return value
  if (levels === 0) {
    problem(`Expected no more than ${levelsMax} objects and lists within each other`)
    return null
  }
  if (!Array.isArray(value)) return yield* readFields(value, path, read, levels - 1)
  return yield* Effect.forEach(value, (one: unknown, index) =>
    readValue(name, one, `${path}[${index}]`, read, levels - 1)
  )
})
