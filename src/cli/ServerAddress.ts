import { Effect, FileSystem, Option, Path, type PlatformError, Redacted, Schema } from "effect"
import { addressFileName, readAddress } from "../admin/AddressFile.ts"
import { adminKeyFileName, readAdminKey } from "../admin/AdminKey.ts"
import { variable } from "../settings/Setting.ts"
import { settingsTable } from "../settings/SettingsTable.ts"
import { allowedOf, httpUrl } from "../settings/TextCodec.ts"
import { CliFailure } from "./CommandLine.ts"

/** Where the command line finds the server and the key. What the operator names comes before what is found. */

const defaultPort = settingsTable.http.port.default

const dataDirectory = Effect.gen(function* () {
  const { name, parse } = settingsTable.service.dataDir
  const directory = parse(yield* variable(name))
  if (Option.isSome(directory)) return directory.value
  return yield* new CliFailure({ message: `${name} must be a path.` })
})

/** An address, and what named it: the operator, a running service, or the defaults. */
export interface FoundAddress {
  readonly url: string
  readonly by: "PARLEY_URL" | "file" | "default"
}

/**
 * The address of the operator's interface: PARLEY_URL, or what the service of the data directory says of itself, or this machine
 * and the port that a server started here would take.
 */
export const findAddress: Effect.Effect<FoundAddress, CliFailure, FileSystem.FileSystem | Path.Path> =
  Effect.gen(function* () {
    const given = yield* variable("PARLEY_URL")
    if (given !== undefined) {
      const address = Schema.decodeOption(httpUrl)(given)
      if (Option.isSome(address)) return { url: address.value, by: "PARLEY_URL" as const }
      return yield* new CliFailure({
        code: "usage",
        message: `PARLEY_URL must be ${allowedOf(httpUrl)}, such as http://127.0.0.1:3000.`
      })
    }
    const running = yield* readAddress(yield* dataDirectory)
    if (Option.isSome(running)) return { url: running.value.url, by: "file" as const }
    const port = (yield* variable(settingsTable.http.adminPort.name)) ?? (yield* variable("PORT")) ?? "0"
    return { url: `http://127.0.0.1:${port === "0" ? defaultPort : port}`, by: "default" as const }
  })

/** The address alone. */
export const serverUrl = Effect.map(findAddress, ({ url }) => url)

const unreadable = (file: string) => (error: PlatformError.PlatformError) =>
  new CliFailure({
    message:
      error.reason._tag === "NotFound"
        ? `There is no admin key in ${file}; the first start of the server makes it. Run this in the directory in which the server was started, or set PARLEY_DATA_DIR; for a server elsewhere, set PARLEY_URL and PARLEY_ADMIN_KEY.`
        : `The admin key in ${file} can't be read (${error.reason._tag}). Run this as the user who started the server, or set PARLEY_ADMIN_KEY.`
  })

/** The key, where it comes from, and whether the operator named that. */
export interface FoundKey {
  readonly key: Redacted.Redacted
  readonly from: string
  readonly isNamed: boolean
}

export const findKey: Effect.Effect<FoundKey, CliFailure, FileSystem.FileSystem | Path.Path> = Effect.gen(
  function* () {
    const given = yield* variable("PARLEY_ADMIN_KEY")
    if (given !== undefined) return { key: Redacted.make(given), from: "PARLEY_ADMIN_KEY", isNamed: true }
    const path = yield* Path.Path
    const named = yield* variable("PARLEY_ADMIN_KEY_FILE")
    const file = named ?? path.join(yield* dataDirectory, adminKeyFileName)
    const key = yield* readAdminKey(file).pipe(
      Effect.catchTags({
        PlatformError: (error) => unreadable(file)(error),
        AdminKeyUnusable: ({ message }) => new CliFailure({ message })
      })
    )
    return { key, from: file, isNamed: named !== undefined }
  }
)

/** Where to go on when nobody answers. */
const remedyOf = ({ by }: FoundAddress): string => {
  switch (by) {
    case "PARLEY_URL":
      return "Start the server with `npm start`, or set PARLEY_URL to where it is."
    case "file":
      return `${addressFileName} in the data directory names that address, but the server that wrote it is gone. Start it with \`npm start\`.`
    case "default":
      return "Start it with `npm start`, run this where it was started, or set PARLEY_URL to where it is."
  }
}

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

/** Why no answer came from the server, and what to do about it. */
export const noAnswer = (address: FoundAddress, error: unknown): CliFailure => {
  const { url } = address
  const code = codeOf(error)
  const failure = (what: string) => new CliFailure({ code: "no_answer", message: what })
  if (isUnknownHost(code)) {
    return failure(`There is no host ${new URL(url).hostname} (${code}). Check PARLEY_URL.`)
  }
  if (isCertificate(code)) {
    return failure(
      `The certificate of ${url} is not trusted (${code}). For a certificate of your own, name its authority in NODE_EXTRA_CA_CERTS.`
    )
  }
  if (isPlainHttp(code)) {
    return failure(
      `The server at ${url} speaks no TLS (${code}). Perhaps PARLEY_URL must begin with http://.`
    )
  }
  if (isUnreachable(code)) {
    return failure(
      `${url} can't be reached from here (${code}). Check PARLEY_URL, the network and the firewall.`
    )
  }
  if (isNotHttp(code)) {
    return failure(
      `What listens at ${url} closed the connection or speaks no HTTP (${code}). Perhaps PARLEY_URL must begin with https://.`
    )
  }
  const why = code === "" || code === "ECONNREFUSED" ? "" : ` (${code})`
  return failure(`No server answers at ${url}${why}. ${remedyOf(address)}`)
}
