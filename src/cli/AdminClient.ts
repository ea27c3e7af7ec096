import { Duration, Effect, FileSystem, Option, Path, type PlatformError, Redacted, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import manifest from "../../package.json" with { type: "json" }
import { AdminApi, cliProduct } from "../admin/AdminApi.ts"
import { adminKeyFileName, readAdminKey } from "../admin/AdminKey.ts"
import { variable } from "../settings/Setting.ts"
import { settingsTable } from "../settings/SettingsTable.ts"
import { allowedOf, httpUrl } from "../settings/TextCodec.ts"
import { CliFailure } from "./CommandLine.ts"

/** No request but an upload takes longer. */
const answerSeconds = 30

const defaultPort = settingsTable.http.port.default

/** The address of the server: PARLEY_URL, or this machine and the port that a server started here would take. */
export const serverUrl: Effect.Effect<string, CliFailure> = Effect.gen(function* () {
  const port = (yield* variable("PORT")) ?? "0"
  const local = `http://127.0.0.1:${port === "0" ? defaultPort : port}`
  const address = Schema.decodeOption(httpUrl)((yield* variable("PARLEY_URL")) ?? local)
  if (Option.isSome(address)) return address.value
  return yield* new CliFailure({
    message: `PARLEY_URL must be ${allowedOf(httpUrl)}, such as http://127.0.0.1:3000.`
  })
})

/** The file in which the first start of a server with these settings puts the key. */
const keyFileOfDataDir = Effect.gen(function* () {
  const path = yield* Path.Path
  const { name, parse } = settingsTable.service.dataDir
  const directory = parse(yield* variable(name))
  if (Option.isNone(directory)) return yield* new CliFailure({ message: `${name} must be a path.` })
  return path.join(directory.value, adminKeyFileName)
})

const unreadable = (file: string) => (error: PlatformError.PlatformError) =>
  new CliFailure({
    message:
      error.reason._tag === "NotFound"
        ? `There is no admin key in ${file}; the first start of the server makes it. For a server elsewhere, set PARLEY_URL and PARLEY_ADMIN_KEY.`
        : `The admin key in ${file} can't be read (${error.reason._tag}). Run this as the user who started the server, or set PARLEY_ADMIN_KEY.`
  })

/** The key, and where it comes from. */
interface FoundKey {
  readonly key: Redacted.Redacted
  readonly from: string
}

const findKey: Effect.Effect<FoundKey, CliFailure, FileSystem.FileSystem | Path.Path> = Effect.gen(
  function* () {
    const given = yield* variable("PARLEY_ADMIN_KEY")
    if (given !== undefined) return { key: Redacted.make(given), from: "PARLEY_ADMIN_KEY" }
    const file = (yield* variable("PARLEY_ADMIN_KEY_FILE")) ?? (yield* keyFileOfDataDir)
    const key = yield* readAdminKey(file).pipe(
      Effect.catchTags({
        PlatformError: (error) => unreadable(file)(error),
        AdminKeyUnusable: ({ message }) => new CliFailure({ message })
      })
    )
    return { key, from: file }
  }
)

type Client = HttpApiClient.ForApi<typeof AdminApi>

const Refusal = Schema.Struct({ error: Schema.Struct({ message: Schema.String, code: Schema.String }) })
const isRefusal = Schema.is(Refusal)

const noServer = (url: string): CliFailure =>
  new CliFailure({
    message: `No server answers at ${url}. Start it with \`npm start\`, or set PARLEY_URL to where it is.`
  })

/** The connection failed, or a body that was being sent did. */
const unansweredTags: ReadonlySet<string> = new Set(["TransportError", "EncodeError"])

/** What went wrong between here and the server, as the person at the terminal can act on it. */
const explain =
  (url: string, from: string, unanswered: (url: string) => CliFailure) =>
  (error: unknown): CliFailure => {
    if (isRefusal(error)) {
      const { code, message } = error.error
      return new CliFailure({
        message:
          code === "invalid_admin_key" ? `The server at ${url} refuses the admin key of ${from}.` : message
      })
    }
    if (HttpClientError.isHttpClientError(error) && unansweredTags.has(error.reason._tag)) {
      return unanswered(url)
    }
    const status = HttpClientError.isHttpClientError(error) ? error.response?.status : undefined
    return new CliFailure({
      message: `What answers at ${url} is no parley of this version${status === undefined ? "" : ` (status ${status})`}.`
    })
  }

/** Asks the server one thing, however long it takes. `unanswered` says what it means that no answer came. */
export const askWithoutLimit = Effect.fnUntraced(function* <A, E>(
  question: (client: Client) => Effect.Effect<A, E>,
  unanswered: (url: string) => CliFailure
) {
  const url = yield* serverUrl
  const { from, key } = yield* findKey
  const client = yield* HttpApiClient.make(AdminApi, {
    baseUrl: url,
    transformClient: HttpClient.mapRequest((request) =>
      HttpClientRequest.bearerToken(request, key).pipe(
        HttpClientRequest.setHeader("user-agent", `${cliProduct}/${manifest.version}`)
      )
    )
  })
  return yield* question(client).pipe(
    // Whatever sits at that address, the key goes nowhere else.
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.mapError(explain(url, from, unanswered))
  )
})

/** Fails when it took that long. */
export const tooLong = Effect.fnUntraced(function* (what: string, seconds: number) {
  const url = yield* serverUrl
  return yield* new CliFailure({ message: `The server at ${url} ${what} ${seconds} seconds.` })
})

/** Asks the server one thing. */
export const askServer = <A, E>(question: (client: Client) => Effect.Effect<A, E>) =>
  askWithoutLimit(question, noServer).pipe(
    Effect.timeoutOrElse({
      duration: Duration.seconds(answerSeconds),
      orElse: () => tooLong("took longer than", answerSeconds)
    })
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
