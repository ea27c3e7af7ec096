/** Messages between the service and the process that checks schemas. */

export interface SchemaTask {
  readonly id: number
  /** JSON of a JSON Schema, or of a grammar. */
  readonly schema: string
  readonly isGrammar?: boolean
  /** Milliseconds after which the process gives up a grammar, and keeps running. */
  readonly millisMax?: number
  /** The text to check; null if only the schema is to be compiled, or the grammar to be read. */
  readonly text: string | null
}

/** The process's answer, or, without an id, that it is ready. */
export interface SchemaAnswer {
  readonly id: number | null
  /** The reason why the schema or the grammar is invalid; null if it is valid. */
  readonly problem: string | null
  /** True if the grammar has parts that aren't supported, or takes too long. */
  readonly isUnsupported?: boolean
  /** The mismatches of the text, without quoting it. */
  readonly mismatch: string | null
}
