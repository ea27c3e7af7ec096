import { Effect, FileSystem, Option, Path, type PlatformError, Redacted, Schema } from "effect"
import { adminKeyFileName, readAdminKey } from "../admin/AdminKey.ts"
import { socketIn } from "../admin/OperatorSocket.ts"
import { variable } from "../settings/Setting.ts"
import { settingsTable } from "../settings/SettingsTable.ts"
import { allowedOf, httpUrl } from "../settings/TextCodec.ts"
import { CliFailure } from "./CommandLine.ts"

/**
 * The command line finds the server and the key. A name that the operator gives comes before what is found.
 */

const dataDirectory = Effect.gen(function* () {
  const { name, parse } = settingsTable.service.dataDir
  const directory = parse(yield* variable(name))
  if (Option.isSome(directory)) return directory.value
  return yield* new CliFailure({ message: `${name} must be a path.` })
})

/** The server that a command asks: the one in PARLEY_URL, or the one that runs on the data directory. */
export interface FoundServer {
  readonly url: string
  /** The path of the Unix socket of the data directory; null for a server that PARLEY_URL names. */
  readonly socket: string | null
  /** The address as messages show it. */
  readonly place: string
}

export const findServer: Effect.Effect<FoundServer, CliFailure, Path.Path> = Effect.gen(function* () {
  const given = yield* variable("PARLEY_URL")
  if (given === undefined) {
    const socket = yield* socketIn(yield* dataDirectory)
    return { url: "http://localhost", socket, place: socket }
  }
  const address = Schema.decodeOption(httpUrl)(given)
  if (Option.isSome(address)) return { url: address.value, socket: null, place: address.value }
  return yield* new CliFailure({
    code: "usage",
    message: `PARLEY_URL must be ${allowedOf(httpUrl)}, such as http://127.0.0.1:3000.`
  })
})

const unreadable = (file: string) => (error: PlatformError.PlatformError) =>
  new CliFailure({
    message:
      error.reason._tag === "NotFound"
        ? `There is no admin key in ${file}; the first start of the server makes it. Run this in the directory in which the server was started, or set PARLEY_DATA_DIR; for a server elsewhere, set PARLEY_URL and PARLEY_ADMIN_KEY.`
        : `The admin key in ${file} can't be read (${error.reason._tag}). Run this as the user who started the server, or set PARLEY_ADMIN_KEY.`
  })

/** A key, and the name of its place. */
interface FoundKey {
  readonly key: Redacted.Redacted
  readonly from: string
}

/**
 * The key that the operator names. The key of the data directory is for the server of that directory alone.
 */
export const findKey = ({
  socket
}: FoundServer): Effect.Effect<FoundKey, CliFailure, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const given = yield* variable("PARLEY_ADMIN_KEY")
    if (given !== undefined) return { key: Redacted.make(given), from: "PARLEY_ADMIN_KEY" }
    const path = yield* Path.Path
    const named = yield* variable("PARLEY_ADMIN_KEY_FILE")
    const file = named ?? path.join(yield* dataDirectory, adminKeyFileName)
    if (named === undefined && socket === null) {
      return yield* new CliFailure({
        code: "usage",
        message: `PARLEY_URL names a server, so its key must be named, too: set PARLEY_ADMIN_KEY, or PARLEY_ADMIN_KEY_FILE, such as PARLEY_ADMIN_KEY_FILE=${file}. Without PARLEY_URL, the server that runs on the data directory is asked.`
      })
    }
    const key = yield* readAdminKey(file).pipe(
      Effect.catchTags({
        PlatformError: (error) => unreadable(file)(error),
        AdminKeyUnusable: ({ message }) => new CliFailure({ message })
      })
    )
    return { key, from: file }
  })

const causesMax = 5

/** The code of the operating system, of DNS or of TLS that is behind an error of the connection. */
const codeOf = (error: unknown): string => {
  let cause: unknown = error
  for (let depth = 0; depth < causesMax && typeof cause === "object" && cause !== null; depth++) {
    if ("code" in cause && typeof cause.code === "string") return cause.code
    const [first]: ReadonlyArray<unknown> =
      "errors" in cause && Array.isArray(cause.errors) ? cause.errors : []
    cause = first ?? ("cause" in cause ? cause.cause : undefined)
  }
  return ""
}

const isOneOf =
  (...codes: ReadonlyArray<string>) =>
  (code: string): boolean =>
    codes.includes(code)

const isUnknownHost = isOneOf("ENOTFOUND", "EAI_AGAIN", "ENODATA")
const isUnreachable = isOneOf("EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT")
const isPlainHttp = isOneOf("EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG")
const isNotHttp = isOneOf("HPE_INVALID_CONSTANT", "UND_ERR_SOCKET", "ECONNRESET")
const isCertificate = (code: string): boolean => /CERT|SIGNATURE|ISSUER|SELF_SIGNED/.test(code)

/** The reason why the server of the data directory can't be asked. */
const noServerOf = (socket: string, code: string): string => {
  if (code === "EACCES") {
    return `Only the account of the server may open ${socket}. Run this as that user, or name the server in PARLEY_URL and a key in PARLEY_ADMIN_KEY.`
  }
  const why = code === "" || code === "ENOENT" || code === "ECONNREFUSED" ? "" : ` (${code})`
  return `No server answers at ${socket}${why}. Start it with \`npm start\`, run this where it was started, or set PARLEY_DATA_DIR; for a server elsewhere, set PARLEY_URL and PARLEY_ADMIN_KEY.`
}

const noServerAt = (url: string, code: string): string => {
  if (isUnknownHost(code)) return `There is no host ${new URL(url).hostname} (${code}). Check PARLEY_URL.`
  if (isCertificate(code)) {
    return `The certificate of ${url} is not trusted (${code}). For a certificate of your own, name its authority in NODE_EXTRA_CA_CERTS.`
  }
  if (isPlainHttp(code)) {
    return `The server at ${url} speaks no TLS (${code}). Perhaps PARLEY_URL must begin with http://.`
  }
  if (isUnreachable(code)) {
    return `${url} can't be reached from here (${code}). Check PARLEY_URL, the network and the firewall.`
  }
  if (isNotHttp(code)) {
    return `What listens at ${url} closed the connection or speaks no HTTP (${code}). Perhaps PARLEY_URL must begin with https://.`
  }
  const why = code === "" || code === "ECONNREFUSED" ? "" : ` (${code})`
  return `No server answers at ${url}${why}. Start the server with \`npm start\`, or set PARLEY_URL to where it is.`
}

/** Why no answer came from the server, and what to do about it. */
export const noAnswer = ({ socket, url }: FoundServer, error: unknown): CliFailure => {
  const code = codeOf(error)
  return new CliFailure({
    code: "no_answer",
    message: socket === null ? noServerAt(url, code) : noServerOf(socket, code)
  })
}
