import { Array as Arr, Clock, Context, Effect, Layer, type Scope, type Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import { Conversations } from "../conversations/Conversations.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { CurrentUser } from "../domain/Account.ts"
import type { ConversationState } from "../domain/Conversation.ts"
import type * as Errors from "../domain/Errors.ts"
import { type ConversationId, ResponseId, type UserId } from "../domain/Ids.ts"
import { type Operation, operationNames } from "../domain/Plan.ts"
import type { Denial, Permissions } from "../plans/Permissions.ts"
import { Policy } from "../plans/Policy.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { traced } from "../telemetry/traced.ts"
import { Toolkit } from "../tools/Toolkit.ts"
import { Accounting } from "./Accounting.ts"
import { AttachedFiles } from "./AttachedFiles.ts"
import { Attempts } from "./Attempts.ts"
import { collect, eventsOf, type GenerationFailure } from "./EventStream.ts"
import { answeredCalls } from "./FunctionItems.ts"
import { generate } from "./Generation.ts"
import {
  type GivenItem,
  type IncomingInput,
  notInHistory,
  readInput,
  resolveReferences
} from "./IncomingInput.ts"
import { nextItemId } from "./ItemIds.ts"
import { JsonSchemas } from "./JsonSchemas.ts"
import { namingDocument } from "./LongDocument.ts"
import { makeOffers } from "./Offers.ts"
import { outputCheck } from "./OutputCheck.ts"
import { ProjectKnowledge } from "./ProjectKnowledge.ts"
import { filesOf } from "./PromptMessages.ts"
import { demandContent, demandQuestion } from "./Question.ts"
import { RequestMedia } from "./RequestMedia.ts"
import { cacheScopeOf, instructionsOf, isStored, keptInstructions, RequestTurn } from "./RequestTurn.ts"
import type { Demands, ResponseRequest } from "./ResponseRequest.ts"
import { makeSearchedProjects, searchParam } from "./SearchedProjects.ts"
import { withNamedAddresses } from "./ToolCalls.ts"
import { turnContent } from "./TurnDetails.ts"

/** Why a request gets no stream: an HTTP error. */
type RequestFailure =
  | Errors.InvalidRequest
  | Errors.FileNotFound
  | Errors.FileNotReady
  | Errors.FileUnreadable
  | Errors.ItemNotFound
  | Errors.ConversationNotFound
  | Errors.ResponseNotLast
  | Denial
  | Errors.ProjectNotFound
  | Errors.NotProjectMember
  | Errors.PromptTooLong
  | Errors.ModelNotFound
  | Errors.NoVisionModel
  | Errors.UsageLimitExceeded
  | Errors.ConversationBusy
  | Errors.NoModelAvailable
  | Errors.ServerBusy
  | Errors.StorageFailed
  | Errors.ModelFailure
  | Errors.DatabaseUnavailable

/** A response that has begun. Its events end with `response.completed`, or fail, also when the conversation's lease is lost. */
interface BegunResponse {
  readonly id: ResponseId
  readonly conversationId: ConversationId
  readonly model: string
  /** In milliseconds since 1970. */
  readonly createdAt: number
  readonly events: Stream.Stream<EventBody, GenerationFailure>
}

/**
 * The product: one message in, one stream of events out. The outer failure is an HTTP error, the inner one the terminal
 * `error` event. Leases, reservations and calls end with the scope.
 */
export class Responses extends Context.Service<
  Responses,
  {
    readonly create: (
      request: ResponseRequest,
      demands?: Demands
    ) => Effect.Effect<BegunResponse, RequestFailure, CurrentUser | Scope.Scope>
    /** The whole response, which is the same events folded. A conversation that was created for one that fails is removed. */
    readonly answer: (
      request: ResponseRequest,
      demands?: Demands
    ) => Effect.Effect<ResponseObject, RequestFailure | GenerationFailure, CurrentUser | Scope.Scope>
  }
>()("parley/responses/Responses") {
  static readonly layerNoDeps = Layer.effect(
    Responses,
    Effect.gen(function* () {
      const { beginSeconds } = (yield* AppConfig).stream
      const { reasoning } = (yield* AppConfig).models
      const accounting = yield* Accounting
      const attachedFiles = yield* AttachedFiles
      const attempts = yield* Attempts
      const conversations = yield* Conversations
      const knowledge = yield* ProjectKnowledge
      const media = yield* RequestMedia
      const policy = yield* Policy
      const requestTurn = yield* RequestTurn
      const schemas = yield* JsonSchemas
      const searchedProjects = yield* makeSearchedProjects
      const toolkit = yield* Toolkit
      const offerOf = makeOffers(toolkit.offered)

      const referredTo = (userId: UserId, { entries }: IncomingInput) =>
        resolveReferences(entries, (ids) => conversations.items(userId, ids), nextItemId)

      /** What the history lacks, and the earlier calls that its results answer. */
      const itemsAfter = Effect.fnUntraced(function* (
        turn: ConversationState,
        given: ReadonlyArray<GivenItem>,
        { results }: IncomingInput
      ) {
        const items = yield* notInHistory(given, (ids) => conversations.knownItems(turn, ids))
        const calls = yield* answeredCalls(results, items, (ids) => conversations.functionCalls(turn, ids))
        return { items, calls }
      })

      const begin = traced("Responses.create")(
        Effect.fnUntraced(function* (request: ResponseRequest, demands: Demands = {}) {
          const caller = yield* CurrentUser
          const { userId } = caller
          yield* accounting.prepare(caller)
          const { images, input: readable, longDocument } = yield* media.read(request.input, caller)
          const input = yield* readInput(readable, nextItemId, demands.functionItems)
          if (demands.questionless !== true) yield* demandQuestion(input)

          const permissions = yield* policy.permissions(caller.plan)
          yield* demand(permissions, paramsOf(request, input, demands))
          const offer = yield* offerOf(demands, permissions.tools)
          const format = demands.answer?.format
          if (format !== undefined) yield* schemas.prepare(userId, format)
          const memberships = yield* searchedProjects(userId, request, demands)

          const given = yield* referredTo(userId, input)
          // Whether a reference brings a file is known only now; a missing item or project is reported first.
          yield* demand(permissions, { files: paramOfFile(given) })
          const files = yield* attachedFiles.find(userId, input.files, given)
          const opened = yield* requestTurn.open(request, userId, demands)
          const { conversationId, turn } = opened
          const { calls, items } = yield* itemsAfter(turn, given, input)
          const onOutput = yield* answering(conversationId)

          const asked = instructionsFor(request, turn, input, demands)
          const { directions, instructions, kept, systemMessage } = asked
          yield* demandContent(turn, [systemMessage, ...directions], items)
          const parts = { systemMessage, directions, items, calls, tools: offer.tools }
          const found = Arr.isReadonlyArrayNonEmpty(memberships)
            ? yield* knowledge.search(memberships, turn, items, demands.fileSearch)
            : null
          const prepared = yield* attempts
            .prepare({
              userId,
              parts,
              files,
              images,
              search: found === null ? null : { id: nextItemId(), knowledge: found },
              turn,
              maxOutputTokens: request.max_output_tokens ?? null,
              permissions,
              demands,
              cacheScope: cacheScopeOf(request, demands, userId, turn, [systemMessage, ...directions]),
              mustCall: offer.mustCall
            })
            .pipe(namingDocument(longDocument))
          const { history, search } = prepared
          const id = demands.responseId ?? ResponseId.make(SecureRandom.uuidV7Unsafe())
          const account = yield* accounting.open(demands.accountId ?? id, caller, prepared.attempts)
          yield* demands.onAccepted ?? Effect.void
          const rounds = {
            rules: offer.rules,
            check: outputCheck(format, schemas, userId),
            runTool: withNamedAddresses(offer.run(toolkit.run), { ...parts, history }),
            nextItemId
          }
          const generation = yield* generate({ ...account, ...rounds, lost: opened.lost, beginSeconds })
          // The conversation's row was being written meanwhile; the client sees nothing before it is stored.
          yield* opened.stored

          const model = generation.model.id
          const createdAt = demands.createdAt ?? (yield* Clock.currentTimeMillis)
          const start = { id, createdAt, model, conversationId, instructions, ...askedOf(request) }
          const content = { items, prepared, calls, systemMessage: kept, echo: demands.echo, reasoning }
          const store = (response: ResponseObject) => opened.commit(turnContent(response, content))
          const shared = { start, search, store, meter: account.meter, onOutput, nextItemId }
          const events = eventsOf({ ...shared, generation, reasoning })
          return { begun: { ...start, events } satisfies BegunResponse, forget: opened.forget }
        })
      )

      const create: Responses["Service"]["create"] = (request, demands) =>
        Effect.map(begin(request, demands), ({ begun }) => begun)

      const answer: Responses["Service"]["answer"] = (request, demands) =>
        Effect.flatMap(begin(request, demands), ({ begun, forget }) =>
          Effect.onError(collect(begun.events), () => forget)
        )

      return Responses.of({ create, answer })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(
    Layer.provide([
      Accounting.layer,
      Attempts.layer,
      ProjectKnowledge.layer,
      RequestMedia.layer,
      RequestTurn.layer,
      JsonSchemas.layer
    ]),
    Layer.provide(AttachedFiles.layer)
  )
}

/** What a response repeats of its request. */
const askedOf = (request: ResponseRequest) => ({
  maxOutputTokens: request.max_output_tokens ?? null,
  previousResponseId: request.previous_response_id ?? null,
  store: isStored(request)
})

/** Fails if the plan or the license lacks an operation. `params` names the field that asks for each. */
const demand = (
  { operation }: Permissions,
  params: Readonly<Partial<Record<Operation, string | null | undefined>>>
): Effect.Effect<void, Denial> => {
  const denials = operationNames.map((name) => (params[name] == null ? null : operation(name, params[name])))
  const denial = denials.find((one) => one !== null)
  return denial === undefined ? Effect.void : Effect.fail(denial)
}

/** The fields by which a request asks for operations. */
const paramsOf = (request: ResponseRequest, { files }: IncomingInput, demands: Demands) => ({
  responses: "",
  projects: searchParam(request, demands),
  files: files[0]?.param
})

/** The first reference to an item with a file. */
const paramOfFile = (given: ReadonlyArray<GivenItem>): string | undefined =>
  given.find(({ item, reference }) => reference !== null && filesOf([item]).length > 0)?.reference?.param

/** Notes for the log which conversation is answered. The result is to be run at the first output. */
const answering = (conversationId: ConversationId) =>
  Effect.map(CurrentAccess, (access) => {
    if (access === null) return Effect.void
    access.conversationId = conversationId
    return Effect.map(Clock.monotonicTimeNanos, (now) => {
      access.firstOutputNanos = now
    })
  })

/**
 * The system message that the conversation keeps, and the one of this response: the instructions of a request hold in the place of
 * what the conversation keeps. Only a new conversation without a system message keeps them.
 */
const instructionsFor = (
  request: ResponseRequest,
  turn: ConversationState,
  input: IncomingInput,
  demands: Demands
) => {
  const instructions = instructionsOf(request)
  const isNew = turn.turnCount === 0
  // spec: ResponseRequestRequest, rules 2 and 3
  const kept = turn.systemMessage ?? (isNew ? keptInstructions(request, demands) : null)
  const systemMessage = instructions ?? kept
  return {
    instructions,
    kept,
    systemMessage,
    directions: input.directions.filter((direction) => direction !== systemMessage)
  }
}
