import type { CreateResponse } from "../api/CreateResponse.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseStart } from "../api/ResponseObject.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import type { ConversationState } from "../domain/Conversation.ts"
import { CurrentUser } from "../domain/Account.ts"
import type {
  ConversationBusy,
  ConversationNotFound,
  DatabaseUnavailable,
  FileNotFound,
  FileNotReady,
  FileUnreadable,
  InvalidRequest,
  ItemNotFound,
  ModelFailure,
  NoModelAvailable,
  NotProjectMember,
  ProjectNotFound,
  PromptTooLong,
  TurnLeaseLost,
  UsageLimitExceeded
} from "../domain/Errors.ts"
import { type ConversationId, ItemId, ResponseId } from "../domain/Ids.ts"
import type { OutputItem } from "../domain/Item.ts"
import type { Denial, Permissions } from "../plans/Permissions.ts"
import { Policy } from "../plans/Policy.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { makeAccounting } from "./Accounting.ts"
import { makeAttachedFiles, unreadFiles } from "./AttachedFiles.ts"
import { makeAttempts } from "./Attempts.ts"
import { turnTokens, type PromptParts } from "./PromptAssembly.ts"
import { eventsOf, type GenerationFailure } from "./EventStream.ts"
import { generate } from "./Generation.ts"
import {
  readInput,
  type IncomingInput,
  makeReferencedItems,
  notInHistory,
  type GivenItem
} from "./IncomingInput.ts"
import * as Meter from "./Meter.ts"
import { makePermittedTools, withNamedAddresses } from "./ToolCalls.ts"
import { makeProjectKnowledge } from "./ProjectKnowledge.ts"
import { filesOf } from "./PromptMessages.ts"
import { instructionsOf, isStored, makeRequestTurn } from "./RequestTurn.ts"
import { Clock, Context, Effect, Layer, Ref, type Scope, Stream } from "effect"
import { SecureRandom } from "effect/crypto"

/** Why a request gets no stream: an HTTP error. */
export type RequestFailure =
  | InvalidRequest
  | FileNotFound
  | FileNotReady
  | FileUnreadable
  | ItemNotFound
  | ConversationNotFound
  | Denial
  | ProjectNotFound
  | NotProjectMember
  | PromptTooLong
  | UsageLimitExceeded
  | ConversationBusy
  | NoModelAvailable
  | ModelFailure
  | DatabaseUnavailable

/** A response that has begun. Its events end with `response.completed`, or fail. */
export interface BegunResponse {
  readonly id: ResponseId
  readonly conversationId: ConversationId
  readonly events: Stream.Stream<EventBody, GenerationFailure>
  /** Fails when the conversation's lease is lost, so that the turn can't be stored any more; never succeeds. */
  readonly lost: Effect.Effect<never, TurnLeaseLost>
}

/**
 * The product: one message in, one stream of events out. The outer failure is an HTTP error, the inner one the terminal
 * `error` event. Everything that the response holds is released when the scope closes.
 */
export class Responses extends Context.Service<
  Responses,
  {
    readonly create: (
      request: CreateResponse
    ) => Effect.Effect<BegunResponse, RequestFailure, CurrentUser | Scope.Scope>
  }
>()("parley/responses/Responses") {
  static readonly layer = Layer.effect(
    Responses,
    Effect.gen(function* () {
      const settings = yield* AppConfig
      const policy = yield* Policy
      const attached = yield* makeAttachedFiles
      const attempts = yield* makeAttempts
      const turnOf = yield* makeRequestTurn
      const recall = yield* makeProjectKnowledge
      const accounting = yield* makeAccounting
      const random = yield* SecureRandom.SecureRandom

      // The state machine of the events is pure and asks for ids as it goes; making one is synchronous.
      const nextItemId = (): ItemId => ItemId.make(Effect.runSync(random.uuidV7()))

      const toolsOf = yield* makePermittedTools(nextItemId)

      const resolve = yield* makeReferencedItems(nextItemId)

      const create = Effect.fn("Responses.create")(function* (request: CreateResponse) {
        const caller = yield* CurrentUser
        yield* accounting.prepare(caller)
        const incoming = yield* readInput(request.input, nextItemId)
        const permissions = yield* policy.permissions(caller.plan)
        yield* demand(permissions, request, incoming)
        const permitted = toolsOf(permissions.tools)
        const membership =
          request.project_id == null ? null : yield* policy.project(caller.userId, request.project_id)
        const given = yield* resolve(caller.userId, incoming.entries)
        yield* demandReferenced(permissions, given)
        const files = yield* attached.find(caller.userId, incoming.files, given)
        const { commit, lost, stored, turn } = yield* turnOf(request, caller.userId)
        const items = notInHistory(given, turn)
        const onOutput = yield* answering(turn.conversationId)
        const { directions, instructions, systemMessage } = heardIn(request, turn)
        const parts: PromptParts = {
          systemMessage,
          directions: [...directions, ...incoming.directions],
          history: [],
          items,
          files: unreadFiles(files),
          tools: permitted.tools,
          knowledge: null
        }
        const knowledge = membership === null ? null : yield* recall(membership, turn, items)
        const attempted = yield* attempts({
          userId: caller.userId,
          parts,
          files,
          search: knowledge === null ? null : { id: nextItemId(), knowledge },
          turn,
          maxOutputTokens: request.max_output_tokens ?? null,
          permissions
        })

        const tools = withNamedAddresses(permitted.belt, { ...parts, history: attempted.history })
        const id = ResponseId.make(yield* random.uuidV7())
        const { budget, meter, tries } = yield* accounting.open(id, caller, attempted.tries)
        const generation = yield* generate(tries, settings.stream.beginSeconds, tools, budget).pipe(
          Effect.tapError(() => Ref.update(meter, Meter.failed))
        )
        // The conversation's row was being written meanwhile; nothing is shown to the client before it is there.
        yield* stored

        const start: ResponseStart = {
          id,
          createdAt: yield* Clock.currentTimeMillis,
          model: generation.model.id,
          conversationId: turn.conversationId,
          instructions,
          maxOutputTokens: request.max_output_tokens ?? null,
          previousResponseId: request.previous_response_id ?? null,
          store: isStored(request)
        }
        const store = (output: ReadonlyArray<OutputItem>) =>
          commit({
            responseId: id,
            model: generation.model.id,
            input: items,
            output,
            systemMessage,
            promptTokens: turnTokens([...items, ...output], attempted.files)
          })
        const { search } = attempted
        return {
          id,
          conversationId: turn.conversationId,
          events: eventsOf({ start, generation, search, store, meter, onOutput, nextItemId }),
          lost
        } satisfies BegunResponse
      })

      return Responses.of({ create })
    })
  )
}

/** Says for the log which conversation is answered; what it gives is to be run at the first output. */
const answering = (conversationId: ConversationId) =>
  Effect.map(CurrentAccess, (access) => {
    if (access === null) return Effect.void
    access.conversationId = conversationId
    return Effect.map(Clock.monotonicTimeNanos, (now) => {
      access.firstOutputNanos = now
    })
  })

/** What the conversation keeps as its system message, and what this response hears besides. */
const heardIn = (request: CreateResponse, turn: ConversationState) => {
  const instructions = instructionsOf(request)
  const isNew = turn.turnCount === 0
  // spec: CreateResponseRequest, rules 2 and 3: a new conversation keeps them, an old one only hears them.
  return {
    instructions,
    systemMessage: isNew ? (instructions ?? turn.systemMessage) : turn.systemMessage,
    directions: isNew || instructions === null ? [] : [instructions]
  }
}

const passed = (denial: Denial | null): Effect.Effect<void, Denial> =>
  denial === null ? Effect.void : Effect.fail(denial)

/** Fails where a request asks for what the caller's plan or the licence doesn't have. */
const demand = (
  { operation }: Permissions,
  request: Pick<CreateResponse, "project_id">,
  { files }: Pick<IncomingInput, "files">
): Effect.Effect<void, Denial> => {
  const [file] = files
  return passed(
    operation("responses", "") ??
      (request.project_id == null ? null : operation("projects", "project_id")) ??
      (file === undefined ? null : operation("files", file.param))
  )
}

/** The same for files that come by a reference to an earlier item. */
const demandReferenced = (
  { operation }: Permissions,
  given: ReadonlyArray<GivenItem>
): Effect.Effect<void, Denial> => {
  const withFile = given.find(({ item, reference }) => reference !== null && filesOf([item]).length > 0)
  return passed(withFile?.reference == null ? null : operation("files", withFile.reference.param))
}
