import type { SqlClient, Statement } from "effect/sql"

/** Stands in a text for the value of a parameter. */
export type Placeholder = symbol

/**
 * A statement for every request, whose text is built once. A template would build it each time, and the
 * driver would hash the new text to find the prepared statement (docs/decisions/speed.md). `build` inserts
 * parameters by their names.
 */
export const prepared = <Parameters extends object>(
  sql: SqlClient.SqlClient,
  build: (parameter: (name: keyof Parameters) => Placeholder) => Statement.Statement<unknown>
): ((parameters: Parameters) => Statement.Statement<unknown>) => {
  const names = new Map<unknown, keyof Parameters>()
  const [text, binds] = build((name) => {
    const placeholder = Symbol("parameter")
    names.set(placeholder, name)
    return placeholder
  }).compile()
  const readers = binds.map((bind) => {
    const name = names.get(bind)
    return name === undefined ? () => bind : (parameters: Parameters) => parameters[name]
  })
  return (parameters) =>
    sql.unsafe(
      text,
      readers.map((read) => read(parameters))
    )
}
