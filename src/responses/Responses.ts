import { Clock, Context, Effect, Layer, type Scope, type Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import { CurrentUser } from "../domain/Account.ts"
import type * as Errors from "../domain/Errors.ts"
import { type ConversationId, ResponseId } from "../domain/Ids.ts"
import type { Denial } from "../plans/Permissions.ts"
import { countPromptTokens } from "../providers/Tokenizer.ts"
import { JsonSchemas } from "../schemas/JsonSchemas.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { traced } from "../telemetry/traced.ts"
import { Toolkit } from "../tools/Toolkit.ts"
import { Attempts } from "./Attempts.ts"
import { collect, eventsOf, type GenerationFailure } from "./EventStream.ts"
import { Accounting } from "./generation/Accounting.ts"
import { generate } from "./generation/Generation.ts"
import { outputCheck } from "./generation/OutputCheck.ts"
import { withNamedAddresses } from "./generation/ToolCalls.ts"
import { turnContent } from "./generation/TurnDetails.ts"
import { makePreparation } from "./Preparation.ts"
import { AttachedFiles } from "./prompt/AttachedFiles.ts"
import { ProjectKnowledge } from "./prompt/ProjectKnowledge.ts"
import { RequestMedia } from "./prompt/RequestMedia.ts"
import { nextItemId, type Demands, type ResponseRequest } from "./prompt/ResponseRequest.ts"
import { isStored, RequestTurn } from "./RequestTurn.ts"

/** The reasons why a request gets no stream, which become HTTP errors. */
export type RequestFailure =
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

/**
 * A response that has begun. Its events end with `response.completed` or fail, also if the conversation's
 * lease is lost.
 */
interface BegunResponse {
  readonly id: ResponseId
  readonly conversationId: ConversationId
  readonly model: string
  /** The time of the beginning, in milliseconds since 1970. */
  readonly createdAt: number
  readonly lacksLogprobs?: true
  readonly events: Stream.Stream<EventBody, GenerationFailure>
}

/**
 * The product: one message in, one stream of events out. The outer failure is an HTTP error, the inner one
 * the terminal `error` event. Leases, reservations and calls end with the scope.
 */
export class Responses extends Context.Service<
  Responses,
  {
    readonly create: (
      request: ResponseRequest,
      demands?: Demands
    ) => Effect.Effect<BegunResponse, RequestFailure, CurrentUser | Scope.Scope>
    /**
     * The whole response, folded from the same events. If it fails, a conversation created for it is removed.
     */
    readonly answer: (
      request: ResponseRequest,
      demands?: Demands
    ) => Effect.Effect<ResponseObject, RequestFailure | GenerationFailure, CurrentUser | Scope.Scope>
    /**
     * The tokens of the prompt that the first model would get, as the tokenizer counts them. Asks no model
     * and stores nothing.
     */
    readonly countInput: (
      request: ResponseRequest,
      demands?: Demands
    ) => Effect.Effect<number, RequestFailure, CurrentUser | Scope.Scope>
  }
>()("parley/responses/Responses") {
  static readonly layerNoDeps = Layer.effect(
    Responses,
    Effect.gen(function* () {
      const { beginSeconds } = (yield* AppConfig).stream
      const { reasoning } = (yield* AppConfig).models
      const accounting = yield* Accounting
      const schemas = yield* JsonSchemas
      const toolkit = yield* Toolkit
      const prepare = yield* makePreparation

      const begin = traced("Responses.create")(
        Effect.fnUntraced(function* (request: ResponseRequest, demands: Demands = {}) {
          const caller = yield* CurrentUser
          yield* accounting.prepare(caller)
          const { asked, offer, onOutput, opened, parts, prepared } = yield* prepare(request, demands, caller)
          const { instructions, kept } = asked
          const { calls, items } = parts
          const { conversationId } = opened
          const { history, search } = prepared
          const id = demands.responseId ?? ResponseId.make(SecureRandom.uuidV7Unsafe())
          const account = yield* accounting.open(demands.accountId ?? id, caller, prepared.attempts)
          yield* demands.onAccepted ?? Effect.void
          const rounds = {
            rules: offer.rules,
            check: outputCheck(demands.answer?.format, schemas, caller.userId),
            runTool: withNamedAddresses(offer.run(toolkit.run), { ...parts, history }),
            nextItemId
          }
          const generation = yield* generate({ ...account, ...rounds, lost: opened.lost, beginSeconds })
          // The conversation's row was written in the meantime. The client gets no output before the row is
          // stored.
          yield* opened.stored

          const model = generation.model.id
          const createdAt = demands.createdAt ?? (yield* Clock.currentTimeMillis)
          const lacks = generation.lacksLogprobs ? { lacksLogprobs: true as const } : {}
          const start = { id, createdAt, model, conversationId, instructions, ...askedOf(request), ...lacks }
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

      const countInput: Responses["Service"]["countInput"] = Effect.fn("Responses.countInput")(function* (
        request,
        demands = {}
      ) {
        return yield* prepare({ ...request, store: false }, demands, yield* CurrentUser).pipe(
          Effect.flatMap(({ prepared }) => countPromptTokens(prepared.attempts[0].request)),
          // Who counts wants to know by how much. Earlier turns that don't fit have no count.
          Effect.catchTag("PromptTooLong", (error) =>
            error.ofHistory === true ? Effect.fail(error) : Effect.succeed(error.promptTokens)
          )
        )
      })

      return Responses.of({ create, answer, countInput })
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

/** The fields that a response repeats from its request. */
const askedOf = (request: ResponseRequest) => ({
  maxOutputTokens: request.max_output_tokens ?? null,
  previousResponseId: request.previous_response_id ?? null,
  store: isStored(request)
})
