/** A rule that one file need not keep. */
export interface Exception {
  readonly path: string
  /** A part of the message, so that the exception covers no other violation. */
  readonly about: string
  readonly reason: string
}

/** Short files that one file of their room imports. Each stands beside others of its kind. */
const shortFiles = {
  "The handlers of one group of endpoints are one file.": [
    "src/anthropic/ModelsHandlers.ts",
    "src/console/ConversationsHandlers.ts",
    "src/console/OwnFilesHandlers.ts",
    "src/openai/EmbeddingsHandlers.ts",
    "src/openai/ModelsHandlers.ts"
  ],
  "A tool is one file.": ["src/tools/Calculator.ts"],
  "A page is one file.": ["src/http/NotFoundPage.ts"]
}

/** An exception that nothing needs any more is a violation too. */
export const exceptions: ReadonlyArray<Exception> = [
  {
    path: "migrations/0001_initial.ts",
    about: "lines; at most",
    reason: "A migration is a list of statements, read from top to bottom."
  },
  ...Object.entries(shortFiles).flatMap(([reason, paths]) =>
    paths.map((path) => ({ path, about: "lines that only", reason }))
  )
]
