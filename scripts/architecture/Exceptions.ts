/** A rule that one file need not keep. */
export interface Exception {
  readonly path: string
  readonly rule: string
  /** A part of the message, so that the exception covers no other violation of the same rule. */
  readonly about: string
  readonly reason: string
}

/** An exception that nothing needs any more is a violation too. */
export const exceptions: ReadonlyArray<Exception> = [
  {
    path: "migrations/0001_initial.ts",
    rule: "function length",
    about: "a function of",
    reason: "A migration is a list of statements, read from top to bottom."
  },
  {
    path: "src/api/Failure.ts",
    rule: "file length",
    about: "lines",
    reason: "It is one table, which is seen to be total in one place."
  },
  {
    path: "src/api/OpenApiDocument.ts",
    rule: "word",
    about: "JSON.parse",
    reason: "It reads what it has just written itself."
  },
  {
    path: "src/auth/KeyToken.ts",
    rule: "confined",
    about: "node:zlib",
    reason: "The check of a key is a CRC32, which Effect doesn't have."
  },
  {
    path: "src/files/blobs/Pieces.ts",
    rule: "confined",
    about: "node:crypto",
    reason: "Effect's Digest takes only bytes that are whole in memory, and a file is not."
  },
  {
    path: "src/providers/Protocol.ts",
    rule: "word",
    about: "JSON.parse",
    reason: "Every token passes through it, and a Schema costs several times the rest of the delivery."
  },
  {
    path: "src/responses/ItemIds.ts",
    rule: "word",
    about: "Effect.runSync",
    reason: "The state machine of the events is pure and asks for ids as it goes; making one is synchronous."
  }
]
