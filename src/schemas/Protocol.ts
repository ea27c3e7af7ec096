/** What the service and the process that has the schemas say to each other. */

export interface SchemaTask {
  readonly id: number
  /** JSON of a JSON Schema, or of a grammar. */
  readonly schema: string
  readonly isGrammar?: boolean
  /** What is to match it; null if only the schema is to be compiled. */
  readonly text: string | null
}

/** The process's answer, or, without an id, that it is ready. */
export interface SchemaAnswer {
  readonly id: number | null
  /** Why the schema can't be used. */
  readonly problem: string | null
  /** What of the text doesn't match, in words that don't quote it. */
  readonly mismatch: string | null
}
