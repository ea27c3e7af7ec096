import { DateTime, Effect, Stream, Struct } from "effect"
import { HttpServerResponse } from "effect/http"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import { shownInputs, shownOutputs } from "../api/ShownItem.ts"
import { Accounts } from "../auth/Accounts.ts"
import type { ShownTurn } from "../conversations/ConversationRows.ts"
import { Conversations, type OwnedConversation } from "../conversations/Conversations.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { Erasure, type FilesOfUser, type UserErasure } from "../erasure/Erasure.ts"
import { UserExport } from "../erasure/UserExport.ts"
import { contentDisposition } from "../http/Download.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { Projects } from "../projects/Projects.ts"
import { organizationBody } from "./AdminAccountsHandlers.ts"
import type { AdminGroups } from "./AdminApi.ts"
import { pageBody, wireNames } from "./AdminBodies.ts"
import { projectBody } from "./AdminProjectsHandlers.ts"
import { archiveContentType, type DeletedUserBody } from "./DataApi.ts"

const deletedUserBody = ({ erased, user: { email, id } }: UserErasure): DeletedUserBody => ({
  id,
  email,
  deleted: true,
  erased: erased && Struct.renameKeys(erased, { filesHandedOver: "files_handed_over" })
})

const conversationBody = (conversation: OwnedConversation) => Struct.renameKeys(conversation, wireNames)

const turnBody = ({ input, output, ...turn }: ShownTurn) => ({
  ...Struct.renameKeys(turn, { ...wireNames, responseId: "response_id" }),
  input: shownInputs(input),
  output: shownOutputs(output, "off")
})

/** The fate of the files, as the request says. */
const filesOf = ({
  files,
  files_to: to
}: {
  readonly files?: "erase"
  readonly files_to?: string
}): Effect.Effect<FilesOfUser, InvalidRequest> => {
  if (to === undefined) return Effect.succeed(files ?? null)
  return files === undefined
    ? Effect.succeed({ to })
    : Effect.fail(
        new InvalidRequest({ param: "files", message: "Send either `files` or `files_to`, not both." })
      )
}

/** The archive of a user as a download, which ends with an error if it can't be completed. */
const downloadOf = Effect.fnUntraced(function* (email: string) {
  const userExport = yield* UserExport
  const drain = yield* Drain
  const { archive } = yield* userExport.export(email)
  const day = DateTime.formatIsoDate(yield* DateTime.now)
  return HttpServerResponse.stream(Stream.interruptWhen(archive, drain.cutoff), {
    contentType: archiveContentType,
    headers: {
      "content-disposition": contentDisposition(`${email} ${day}.zip`),
      "x-content-type-options": "nosniff"
    }
  })
})

/** Deletes and renames, and shows conversations. */
export const dataHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "data",
    Effect.fnUntraced(function* (handlers) {
      const accounts = yield* Accounts
      const conversations = yield* Conversations
      const erasure = yield* Erasure
      const projects = yield* Projects
      const services = yield* Effect.context<Effect.Services<ReturnType<typeof downloadOf>>>()

      return handlers.handleAll({
        deleteUser: Effect.fnUntraced(function* ({ payload: { email, ...files } }) {
          return deletedUserBody(yield* erasure.deleteUser(email, yield* filesOf(files)))
        }, enveloped),
        userHoldings: Effect.fnUntraced(function* ({ query }) {
          const { files, projects } = yield* erasure.holdings(query.email)
          return {
            files,
            projects: projects.map((project) => Struct.renameKeys(project, { isOnlyOwner: "is_only_owner" }))
          }
        }, enveloped),
        exportUser: ({ query }) => downloadOf(query.email).pipe(Effect.provideContext(services), enveloped),
        renameOrganization: ({ payload: { name, organization } }) =>
          accounts.renameOrganization(organization, name).pipe(Effect.map(organizationBody), enveloped),
        deleteOrganization: Effect.fnUntraced(function* ({ payload }) {
          const { organization, with_contents = false } = payload
          const deleted = yield* erasure.deleteOrganization(organization, with_contents)
          const { id, name } = deleted.organization
          return { id, name, deleted: true, users: deleted.users, projects: deleted.projects } as const
        }, enveloped),
        renameProject: ({ params, payload }) =>
          projects.rename(params.project_id, payload.name).pipe(Effect.map(projectBody), enveloped),
        deleteProject: ({ params: { project_id: id } }) =>
          erasure.deleteProject(id).pipe(
            Effect.map(({ name }) => ({ id, name, deleted: true }) as const),
            enveloped
          ),
        listConversations: Effect.fnUntraced(function* ({ query: { after, email } }) {
          const { id } = yield* accounts.findUserByEmail(email)
          return pageBody(conversationBody)(yield* conversations.listOf(id, after))
        }, enveloped),
        readConversation: Effect.fnUntraced(function* ({ params, query: { email, from = 0 } }) {
          const user = yield* accounts.findUserByEmail(email)
          const { conversation, turns } = yield* conversations.readOf(user, params.conversation_id, from)
          return {
            ...conversationBody(conversation),
            system_message: conversation.systemMessage,
            data: turns.map(turnBody),
            has_more: from + turns.length < conversation.turns
          }
        }, enveloped),
        deleteConversation: Effect.fnUntraced(function* ({ params: { conversation_id: id }, query }) {
          yield* conversations.deleteOf(yield* accounts.findUserByEmail(query.email), id)
          return { id, deleted: true } as const
        }, enveloped)
      })
    })
  )
