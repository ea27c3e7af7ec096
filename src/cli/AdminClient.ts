import { NodeHttpClient } from "@effect/platform-node"
import undici from "@effect/platform-node/Undici"
import { Duration, Effect, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { AdminApi, cliProduct } from "../admin/AdminApi.ts"
import { thisBuild } from "../settings/Build.ts"
import { CliFailure } from "./CommandLine.ts"
import { findKey, findServer, type FoundServer, noAnswer } from "./ServerAddress.ts"
import { printable } from "./Table.ts"

/** Longest time for the answer to a request other than an upload. */
const answerSeconds = 30

type Client = HttpApiClient.ForApi<typeof AdminApi>

const Refusal = Schema.Struct({ error: Schema.Struct({ message: Schema.String, code: Schema.String }) })
const isRefusal = Schema.is(Refusal)

/** The connection failed, or a body that was being sent did. */
const unansweredTags: ReadonlySet<string> = new Set(["TransportError", "EncodeError"])

/** Paths that are part of the service; PARLEY_URL must not end in one. */
const innerPath = /\/(v1|openai\/v1|admin|console|docs)\/?$/

const noParley = ({ place }: FoundServer, status: number | undefined): CliFailure => {
  const [path] = innerPath.exec(place) ?? []
  return new CliFailure({
    code: "no_parley",
    message:
      path === undefined
        ? `What answers at ${place} is no parley of this version${status === undefined ? "" : ` (status ${status})`}.`
        : `PARLEY_URL must be the address of the server, without ${path}: ${place.slice(0, -path.length)}`
  })
}

/** Says why no answer came, if not because the server isn't there. */
type Unanswered = (place: string) => CliFailure

/** Says what went wrong between here and the server, so that the person at the terminal can act on it. */
const explain =
  (server: FoundServer, from: string, unanswered: Unanswered | null) =>
  (error: unknown): CliFailure => {
    const { place } = server
    if (isRefusal(error)) {
      const { code, message } = error.error
      if (code === "route_not_found") return noParley(server, undefined)
      return new CliFailure({
        code,
        message:
          code === "invalid_admin_key" ? `The server at ${place} refuses the admin key of ${from}.` : message
      })
    }
    if (HttpClientError.isHttpClientError(error) && unansweredTags.has(error.reason._tag)) {
      return unanswered === null ? noAnswer(server, error) : unanswered(place)
    }
    return noParley(server, HttpClientError.isHttpClientError(error) ? error.response?.status : undefined)
  }

const signed = HttpClientRequest.setHeader("user-agent", `${cliProduct}/${thisBuild.version}`)

/** Whatever sits at an address, no request goes elsewhere. */
const withoutRedirects = Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })

/**
 * The client of a Unix socket, or the one that is there. A socket has no connection that outlives an answer.
 */
const clientOf = ({ socket: socketPath }: FoundServer) =>
  socketPath === null
    ? HttpClient.HttpClient
    : Effect.suspend(() =>
        NodeHttpClient.makeUndici.pipe(
          Effect.provideService(
            NodeHttpClient.Dispatcher,
            new undici.Agent({ connect: { socketPath }, pipelining: 0 })
          )
        )
      )

/** Asks the server one thing, however long it takes. `unanswered` says why no answer came. */
export const askWithoutLimit = Effect.fnUntraced(function* <A, E>(
  question: (client: Client) => Effect.Effect<A, E>,
  unanswered: Unanswered | null
) {
  const server = yield* findServer
  const { from, key } = yield* findKey(server)
  const client = yield* HttpApiClient.makeWith(AdminApi, {
    baseUrl: server.url,
    httpClient: HttpClient.mapRequest(yield* clientOf(server), (request) =>
      signed(HttpClientRequest.bearerToken(request, key))
    )
  })
  return yield* question(client).pipe(withoutRedirects, Effect.mapError(explain(server, from, unanswered)))
})

/** Fails when it took that long. */
export const tooLong = Effect.fnUntraced(function* (what: string, seconds: number) {
  const { place } = yield* findServer
  return yield* new CliFailure({ message: `The server at ${place} ${what} ${seconds} seconds.` })
})

const askOnce = <A, E>(question: (client: Client) => Effect.Effect<A, E>) =>
  askWithoutLimit(question, null).pipe(
    Effect.timeoutOrElse({
      duration: Duration.seconds(answerSeconds),
      orElse: () => tooLong("took longer than", answerSeconds)
    })
  )

/** Names that a message lists. */
const namedMax = 10

/** The names that exist of something, all of them where they are few. */
const existing = (names: ReadonlyArray<string>, hasMore: boolean, command: string): string => {
  const more = hasMore || names.length > namedMax ? `, and more: see \`${command}\`` : ""
  return names.length === 0
    ? "There are none."
    : `Those that exist: ${names.slice(0, namedMax).map(printable).join(", ")}${more}.`
}

/** Adds to the refusal of an unknown name the names that exist, which the operator may see. */
const withExisting = Effect.fnUntraced(function* ({ code, message }: CliFailure) {
  switch (code) {
    case "organization_not_found": {
      const { data, has_more } = yield* askOnce((client) => client.accounts.listOrganizations({ query: {} }))
      return `${message} ${existing(
        data.map(({ name }) => name),
        has_more,
        "parley org list"
      )}`
    }
    case "user_not_found": {
      const { data, has_more } = yield* askOnce((client) => client.accounts.listUsers({ query: {} }))
      return `${message} ${existing(
        data.map(({ email }) => email),
        has_more,
        "parley user list"
      )}`
    }
    case "api_key_not_found":
      return `${message} \`parley key list EMAIL\` shows the ids of a user's keys.`
    default:
      return message
  }
})

/** Asks the server one thing. */
export const askServer = <A, E>(question: (client: Client) => Effect.Effect<A, E>) =>
  askOnce(question).pipe(
    Effect.catchTag("CliFailure", (failure) =>
      withExisting(failure).pipe(
        // The first failure says more.
        Effect.orElseSucceed(() => failure.message),
        Effect.flatMap((message) => Effect.fail(new CliFailure({ ...failure, message })))
      )
    )
  )

/** Pages that are fetched of one list. */
const pagesMax = 1_000

/** The item that the next page of a list begins after; none for the first page. */
export interface After<Id> {
  readonly after?: Id
}

/** Everything of a list that comes in pages. */
export const askForAll = Effect.fnUntraced(function* <Id extends string, Item extends { readonly id: Id }, E>(
  question: (
    client: Client,
    page: After<Id>
  ) => Effect.Effect<{ readonly data: ReadonlyArray<Item>; readonly has_more: boolean }, E>
) {
  const items: Array<Item> = []
  for (let page = 0; page < pagesMax; page++) {
    const last = items.at(-1)
    const { data, has_more } = yield* askServer((client) =>
      question(client, last === undefined ? {} : { after: last.id })
    )
    items.push(...data)
    if (!has_more || data.length === 0) return items
  }
  return yield* new CliFailure({ message: `The list has more than ${items.length} entries.` })
})
