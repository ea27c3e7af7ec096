/** A rule that one file need not keep. */
export interface Exception {
  readonly path: string
  /** A part of the message, so that the exception covers no other violation. */
  readonly about: string
  readonly reason: string
}

/** An exception that nothing needs any more is a violation too. */
export const exceptions: ReadonlyArray<Exception> = [
  {
    path: "migrations/0001_initial.ts",
    about: "lines; at most",
    reason: "A migration is a list of statements, read from top to bottom."
  }
]
