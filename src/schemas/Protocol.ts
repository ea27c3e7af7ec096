/** Messages between the service and the process that checks schemas. */

export interface SchemaTask {
  readonly id: number
  /** JSON of a JSON Schema, or of a grammar. */
  readonly schema: string
  readonly isGrammar?: boolean
  /** The text to check; null if only the schema is to be compiled. */
  readonly text: string | null
}

/** The process's answer, or, without an id, that it is ready. */
export interface SchemaAnswer {
  readonly id: number | null
  /** The reason why the schema is invalid; null if it is valid. */
  readonly problem: string | null
  /** The mismatches of the text, without quoting it. */
  readonly mismatch: string | null
}
