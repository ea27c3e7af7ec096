import { Effect, Redacted, Layer } from "effect"
import { HttpServer } from "effect/http"
import { Links } from "../auth/Links.ts"
import { Onboarding } from "../auth/Onboarding.ts"
import type { User } from "../domain/Account.ts"
import { LicenseForbids } from "../domain/Errors.ts"
import { AppConfig } from "../settings/AppConfig.ts"

/** The port of the service; the one of the settings may be 0. */
const portOf = ({ address }: HttpServer.HttpServer["Service"], fallback: number): number =>
  address._tag !== "UnixPathAddress" ? address.port : fallback

/** The address of the web application in browsers, without a slash at the end. */
export const applicationUrl = Effect.gen(function* () {
  const { console, http } = yield* AppConfig
  const server = yield* HttpServer.HttpServer
  return console.publicUrl ?? `http://localhost:${portOf(server, http.port)}`
})

/**
 * The address of a link. Browsers send nothing behind the # to a server, so that no log on the way has the
 * token.
 */
export const linkUrl = (application: string, token: Redacted.Redacted): string =>
  `${application}/link#${Redacted.value(token)}`

/** Stores the key of PARLEY_INIT_API_KEY and its user, at any start and before the service listens. */
export const adoptGivenKey = Effect.gen(function* () {
  const { initApiKey, initUserEmail } = (yield* AppConfig).auth
  if (initApiKey === null) return
  const onboarding = yield* Onboarding
  yield* onboarding.adoptKey(initUserEmail, initApiKey).pipe(
    Effect.catchTag("LicenseForbids", ({ message, param }) =>
      Effect.fail(
        new LicenseForbids({
          param,
          message:
            `The user of PARLEY_INIT_USER_EMAIL can't be created. ${message} ` +
            "Without PARLEY_INIT_API_KEY the service starts as it is."
        })
      )
    )
  )
}).pipe(Effect.withSpan("FirstStart.adoptGivenKey"))

export const layerGivenKey = Layer.effectDiscard(adoptGivenKey)

/**
 * Creates the first user and its key where there is no user, and shows the key before both are committed. To
 * be called when the service listens: a start that fails earlier leaves no unseen key behind.
 */
export const firstAccount = Effect.fn("FirstStart.firstAccount")(function* (
  show: (user: User, key: Redacted.Redacted) => Effect.Effect<void>
) {
  const { initUserEmail } = (yield* AppConfig).auth
  return yield* (yield* Onboarding).firstAccount(initUserEmail, show)
})

/** A new link for the first administrator; null once an administrator has signed in. */
export const setUpUrl = Effect.gen(function* () {
  const links = yield* Links
  const application = yield* applicationUrl
  return yield* links.setUp.pipe(
    Effect.map(({ token }) => linkUrl(application, token)),
    Effect.catchTag("SetUpDone", () => Effect.succeed(null))
  )
}).pipe(Effect.withSpan("FirstStart.setUpUrl"))

/** The facts that the operator sees when the service is up. */
export interface Startup {
  readonly url: string
  readonly version: string
  /** Its addresses for other machines, if it listens on more than this one. */
  readonly networkUrls: ReadonlyArray<string>
  /** A sentence about what answers. */
  readonly models: string
  /** The operator's interface, if it has a port of its own. */
  readonly adminUrl: string | null
  readonly dataDir: string
  /** The directory of the embedded database, if it isn't below `dataDir`. */
  readonly databaseDir: string | null
  readonly key: StartupKey
  /** The link for the first administrator, as long as none has signed in. */
  readonly setUpUrl: string | null
}

/** The key of the request to try. */
export type StartupKey =
  /** Created just now, and shown by `firstKeyNotice`. */
  | { readonly _tag: "First"; readonly key: string }
  /** The key is in this variable, or in the file that the operator named in its place. */
  | { readonly _tag: "Given"; readonly name: string; readonly file: string | null }
  /** The key is known to its owner only; the user of this address can get another one. */
  | { readonly _tag: "Existing"; readonly email: string }

const curl = (url: string, key: string): ReadonlyArray<string> => [
  `  curl ${url}/v1/responses \\`,
  `    -H "Authorization: Bearer ${key}" \\`,
  `    -H "Content-Type: application/json" \\`,
  `    -d '{"input": "Hello! What are you, and what can you do?", "stream": false}'`,
  "",
  '  Without "stream": false the answer comes as a stream of events.'
]

/** A text as one word of a shell's command, whatever is in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The first key, which is shown once. */
export const firstKeyNotice = (
  user: { readonly email: string; readonly organization: string },
  key: string
): string =>
  [
    "",
    `  Your first API key, of ${user.email} in the organization ${user.organization}. It is shown once, and only its`,
    "  hash is stored:",
    "",
    `    ${key}`,
    "",
    ""
  ].join("\n")

/** The request to try, with a key that works where it is pasted. */
const invitation = ({ key, url }: Startup): ReadonlyArray<string> => {
  if (key._tag === "First") return ["  Ask something:", "", ...curl(url, key.key)]
  if (key._tag === "Existing") {
    const email = /^[\w.@+-]+$/.test(key.email) ? key.email : quoted(key.email)
    return [
      `  Ask something (with a key from \`npx parley key create ${email} --name NAME\`):`,
      "",
      ...curl(url, "$PARLEY_API_KEY")
    ]
  }
  return key.file === null
    ? [`  Ask something, in a shell where ${key.name} is set:`, "", ...curl(url, `$${key.name}`)]
    : ["  Ask something, as a user who may read the key:", "", ...curl(url, `$(cat ${quoted(key.file)})`)]
}

/** The way to set up the web application. */
const setUp = ({ setUpUrl }: Startup): ReadonlyArray<string> =>
  setUpUrl === null
    ? []
    : [
        "  Set up the web application in a browser. The link works once, within 30 minutes and until the next start;",
        "  `npx parley setup-link` prints another one:",
        "",
        `    ${setUpUrl}`,
        ""
      ]

/**
 * The address of a service that listens on all networks isn't one to connect to; the loopback of its family
 * is.
 */
export const reachable = (url: string): string =>
  url.replace(/^http:\/\/0\.0\.0\.0:/, "http://127.0.0.1:").replace(/^http:\/\/\[::\]:/, "http://[::1]:")

/** An address of IPv6 stands in brackets. */
export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`

/** Columns of the output; longer texts are folded between words. */
const columnsMax = 100

/** A label and a text beside it, in as many lines as it needs. A longer word has a line of its own. */
const folded = (label: string, text: string): ReadonlyArray<string> => {
  const line = new RegExp(`\\S.{0,${columnsMax - label.length - 1}}(?= |$)|\\S+`, "g")
  return (text.match(line) ?? [""]).map(
    (part, index) => (index === 0 ? label : " ".repeat(label.length)) + part
  )
}

/** The addresses of a service that listens on more than this machine, and a warning. */
const exposed = ({ networkUrls }: Startup): ReadonlyArray<string> => {
  if (networkUrls.length === 0) return []
  const text =
    "Others reach it there over plain HTTP, which shows keys and texts to everyone on the way: put a reverse proxy with TLS in " +
    "front, and keep /admin and /metrics inside (docs/deployment.md)."
  return [...networkUrls.map((url) => `  network    ${url}`), ...folded("             ", text), ""]
}

/** The start-up output, as text that ends with a new line. */
export const startupNotice = (startup: Startup): string =>
  [
    "",
    `  parley ${startup.version} is ready on ${startup.url}`,
    "",
    ...folded("  models     ", startup.models),
    `  browser    ${startup.url}/`,
    `  reference  ${startup.url}/docs`,
    ...(startup.adminUrl === null ? [] : [`  admin      ${startup.adminUrl}`]),
    `  data       ${startup.dataDir}`,
    ...(startup.databaseDir === null ? [] : [`  database   ${startup.databaseDir}`]),
    "",
    ...exposed(startup),
    ...setUp(startup),
    ...invitation(startup),
    "",
    "  `npx parley help` shows how to add users and keys, `npx parley doctor` checks this installation.",
    "  Ctrl-C stops it.",
    "",
    ""
  ].join("\n")
