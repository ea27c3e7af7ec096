/** A rule that one file need not keep. */
export interface Exception {
  readonly path: string
  /** A part of the message, so that the exception covers no other violation. */
  readonly about: string
  readonly reason: string
}

/** Short files that are still to be merged into their importers. The list only shrinks. */
const splinters = [
  "src/admin/AdminKeysHandlers.ts",
  "src/admin/BackupCheck.ts",
  "src/anthropic/ModelsHandlers.ts",
  "src/api/openai/ChatApi.ts",
  "src/auth/AttemptRule.ts",
  "src/auth/EarlierAccess.ts",
  "src/auth/ProviderFetch.ts",
  "src/auth/SetUp.ts",
  "src/auth/SignInSweep.ts",
  "src/cli/AdminKeyCommands.ts",
  "src/cli/Commands.ts",
  "src/console/ConversationsHandlers.ts",
  "src/console/OwnFilesApi.ts",
  "src/console/OwnFilesHandlers.ts",
  "src/console/ReturnPath.ts",
  "src/console/SameOriginRule.ts",
  "src/conversations/ConversationList.ts",
  "src/conversations/FunctionCallRows.ts",
  "src/conversations/ResponseEvents.ts",
  "src/files/EarlyReading.ts",
  "src/files/OwnerChange.ts",
  "src/http/HeaderChecks.ts",
  "src/http/IgnoredQuery.ts",
  "src/http/NotFoundPage.ts",
  "src/jobs/JobLine.ts",
  "src/jobs/MissingEvents.ts",
  "src/openai/CallPieces.ts",
  "src/openai/EmbeddingsHandlers.ts",
  "src/openai/ModelsHandlers.ts",
  "src/openai/OutputSoFar.ts",
  "src/openai/ShownPlaces.ts",
  "src/openai/StoredResponsesHandlers.ts",
  "src/openai/WebSocketMessages.ts",
  "src/providers/Retry.ts",
  "src/responses/DocumentText.ts",
  "src/responses/FunctionResults.ts",
  "src/responses/Question.ts",
  "src/responses/SearchedProjects.ts",
  "src/responses/SuitableCandidates.ts",
  "src/responses/WholeHistory.ts",
  "src/responses/WrittenCalls.ts",
  "src/responses/schemas/OldKeywords.ts",
  "src/routing/ModelPlaces.ts",
  "src/settings/OidcSettings.ts",
  "src/tools/Calculator.ts",
  "src/tools/egress/EgressRules.ts"
]

/** An exception that nothing needs any more is a violation too. */
export const exceptions: ReadonlyArray<Exception> = [
  {
    path: "migrations/0001_initial.ts",
    about: "lines; at most",
    reason: "A migration is a list of statements, read from top to bottom."
  },
  ...splinters.map((path) => ({ path, about: "lines that only", reason: "It is still to be merged." }))
]
