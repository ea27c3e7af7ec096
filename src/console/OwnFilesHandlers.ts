import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentUser } from "../domain/Account.ts"
import type { Operation } from "../domain/Plan.ts"
import { mayCreateProjects } from "../domain/Project.ts"
import { FileTexts } from "../files/FileTexts.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { makeFilesHandlers } from "../http/FilesHandlers.ts"
import { fileTextObject } from "../http/ProjectBodies.ts"
import { Policy } from "../plans/Policy.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { ConsoleApi } from "./ConsoleApi.ts"
import { CurrentSession } from "./CurrentSession.ts"

/** The files of the signed-in user. */
export const OwnFilesHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "ownFiles",
  Effect.fnUntraced(function* (handlers) {
    const { files: settings, projects } = yield* AppConfig
    const policy = yield* Policy
    const texts = yield* FileTexts

    return handlers.handleAll({
      ...(yield* makeFilesHandlers),
      text: Effect.fnUntraced(function* ({ params, query }) {
        const { userId } = yield* CurrentUser
        return fileTextObject(yield* texts.part(userId, params.file_id, query))
      }, enveloped),
      storage: Effect.fnUntraced(function* () {
        const { plan, userId } = yield* CurrentUser
        const { storage } = yield* policy.permissions(plan)
        return {
          ...(yield* texts.storage(userId, storage)),
          file_bytes_max: settings.fileBytesMax,
          uploads_max: settings.uploadsPerUserMax
        }
      }, enveloped),
      permitted: Effect.fnUntraced(function* () {
        const { person, plan } = yield* CurrentSession
        const { operation } = yield* policy.permissions(plan)
        const has = (name: Operation) => operation(name, "") === null
        return {
          responses: has("responses"),
          files: has("files"),
          projects: has("projects"),
          create_projects:
            has("projects") && has("create_projects") && mayCreateProjects(projects.creators, person.role)
        }
      }, enveloped)
    })
  })
)
