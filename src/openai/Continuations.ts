import { Effect, Predicate } from "effect"
import type { Item, ResponseResource } from "../api/openai/ResponseResource.ts"
import { ResponseJobs } from "../conversations/ResponseJobs.ts"
import { CurrentUser } from "../domain/Account.ts"
import {
  type ConversationNotFound,
  PreviousResponseNotFound,
  ResponseNotComplete,
  ResponseWithoutAnswer
} from "../domain/Errors.ts"
import type { ResponseId } from "../domain/Ids.ts"

/**
 * A response that isn't stored can be continued on its own connection, which remembers the last one: the next
 * message is answered as if the client had sent the whole history itself.
 */

type Body = Readonly<Record<string, unknown>>

export interface Continuation {
  /** The response that the next message may name. */
  readonly id: string
  /** The stored response that the history goes on from; undefined for none. */
  readonly base: unknown
  /** All items since, of requests and answers. */
  readonly items: ReadonlyArray<unknown>
}

/** A longer history is forgotten, in characters of JSON: one user may have many connections. */
const charactersMax = 1_000_000

const itemsOf = ({ input }: Body): ReadonlyArray<unknown> =>
  Array.isArray(input) ? input : [{ type: "message", role: "user", content: input }]

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const isSame = (one: unknown, other: string): boolean =>
  Predicate.isString(one) && uuid.exec(one)?.[0].toLowerCase() === uuid.exec(other)?.[0].toLowerCase()

/** True if a message goes on from what its connection remembers. */
export const goesOn = (body: Body, known: Continuation | null): known is Continuation =>
  known !== null && isSame(body["previous_response_id"], known.id)

/** The message with its history. */
export const withHistory = (body: Body, { base, items }: Continuation): Body => ({
  ...body,
  previous_response_id: base,
  input: [...items, ...itemsOf(body)]
})

/** Fails if the message names a response by what can't be the id of one. */
export const checkPrevious = ({ previous_response_id: id }: Body) =>
  Predicate.isString(id) && !uuid.test(id) ? Effect.fail(new PreviousResponseNotFound()) : Effect.void

/** They are no part of a history, and would take most of its room. */
const withoutLogprobs = (item: Item): Item =>
  item.type === "message"
    ? {
        ...item,
        content: item.content.map((part) => (part.type === "output_text" ? { ...part, logprobs: [] } : part))
      }
    : item

/** The connection remembers this after an answer; null for one that is stored, or too long. */
export const remembered = (body: Body, response: ResponseResource): Continuation | null => {
  if (response.store) return null
  const items = [...itemsOf(body), ...response.output.map(withoutLogprobs)]
  return JSON.stringify(items).length > charactersMax
    ? null
    : { id: response.id, base: body["previous_response_id"], items }
}

/** The words of this profile for a response that isn't there to be continued, or not yet. */
export const makeNamingPrevious = Effect.map(
  ResponseJobs,
  (jobs) =>
    ({ previous_response_id: previous }: { readonly previous_response_id?: ResponseId | null | undefined }) =>
      Effect.fnUntraced(function* (error: ConversationNotFound) {
        if (error.param !== "previous_response_id" || previous == null) return yield* error
        const job = yield* jobs.find((yield* CurrentUser).userId, previous)
        if (job?.status === "failed" || job?.status === "cancelled") {
          return yield* new ResponseWithoutAnswer({ status: job.status })
        }
        return yield* job !== undefined && job.endedAt === null
          ? new ResponseNotComplete({ param: "previous_response_id" })
          : new PreviousResponseNotFound()
      })
)
