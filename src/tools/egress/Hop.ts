import type { Dispatcher } from "@effect/platform-node/Undici"
import { Effect, Redacted } from "effect"
import { decompress, decompressorsOf, readUpTo } from "./Decompression.ts"
import { type Dial, loadUndici } from "./Network.ts"
import type { WebAddress } from "./WebAddress.ts"

/** Longest headers of an answer, together. */
const headerBytesMax = 16 * 1024

/** Addresses of a host that are tried until one accepts the connection. */
const addressesTriedMax = 3

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export interface EgressOptions {
  /** Sent on every hop. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sent to the origin of the first address alone: a redirect to another one loses them. */
  readonly credentials?: Readonly<Record<string, Redacted.Redacted>>
  /** Tells which media types are read: in lower case, without parameters, "" for none. All if left out. */
  readonly accepts?: (mediaType: string) => boolean
  /** Longest body, as sent and as decompressed; a longer one is cut. Without it: PARLEY_FETCH_BYTES_MAX. */
  readonly bytesMax?: number
  /** Time for the whole request: names, connections, redirects, body. Without it: PARLEY_FETCH_SECONDS. */
  readonly seconds?: number
  /**
   * The operator named this address in the settings: it may have any port, and the lists of hosts don't apply
   * to its origin. A private address must be in PARLEY_EGRESS_ALLOW, unless the origin is trusted too.
   */
  readonly isConfigured?: boolean
  /**
   * An origin from the settings that may have private addresses; the origins it redirects to may not. Never
   * taken from a model or the web.
   */
  readonly trustedOrigin?: string
}

/** An answer of any status. */
export interface EgressAnswer {
  /** The address after all redirects, without a fragment. */
  readonly url: string
  readonly status: number
  /** Headers by names in lower case; the last value of a header that came twice. */
  readonly headers: Readonly<Record<string, string>>
  /** The media type in lower case and without parameters; "" for none. */
  readonly mediaType: string
  /** The charset as declared, not checked. */
  readonly charset: string | null
  /** Decompressed. Empty unless the status is 200 to 299: other bodies are not read. */
  readonly bytes: Uint8Array
  /** The body is longer. */
  readonly isCut: boolean
}

/** One request, to addresses that have been checked. */
export interface Hop {
  readonly address: WebAddress
  readonly addresses: ReadonlyArray<string>
  /** The JSON to be posted; null for a GET. */
  readonly json: string | null
  readonly options: EgressOptions
  /** True for the origin that the credentials are for. */
  readonly isTrusted: boolean
  readonly bytesMax: number
}

/** The end of a hop: an answer, or the address of the next one. */
type HopEnd =
  | { readonly type: "answer"; readonly answer: EgressAnswer }
  | { readonly type: "redirect"; readonly location: string }

export type HopFault = "unreachable" | "cut" | "media_type" | "encoding"

/**
 * Sends one request on a connection of its own, which is closed afterwards: requests share nothing. Calls
 * `connected` once there is a connection.
 */
export const sendHop = (hop: Hop, dial: Dial, connected: () => void): Effect.Effect<HopEnd, HopFault> =>
  Effect.flatMap(loadUndici, ({ Client }) => {
    let isConnected = false
    let refusal: string | null = null
    return Effect.acquireUseRelease(
      Effect.sync(
        () =>
          new Client(hop.address.url.origin, {
            allowH2: false,
            pipelining: 1,
            maxHeaderSize: headerBytesMax,
            // The time of the whole request is bounded.
            headersTimeout: 0,
            bodyTimeout: 0,
            connect: pinned(hop, dial, () => {
              isConnected = true
              connected()
            })
          })
      ),
      (client) =>
        Effect.tryPromise({
          try: (signal) => exchange(hop, client, signal),
          catch: (error): HopFault => {
            if (error instanceof Unwanted) return error.fault
            if (isConnected) return "cut"
            refusal = codeOf(error)
            return "unreachable"
          }
        }).pipe(
          Effect.tapError(() => (refusal === null ? Effect.void : logRefusal(hop.address.host, refusal)))
        ),
      (client) => Effect.promise(() => client.destroy())
    )
  })

/** The code of an error of the system or of TLS; it quotes nothing of the server. */
const codeOf = (error: unknown): string | null =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null

/** Codes of untrusted certificates. Source: Node.js, TLS, X509 certificate error codes. */
const certificateCodes = /CERT|ISSUER|LEAF_SIGNATURE|HOSTNAME_MISMATCH/

/** Logs why there is no connection; the model gets one message for all addresses that can't be reached. */
const logRefusal = (host: string, code: string) =>
  (certificateCodes.test(code)
    ? Effect.logWarning(
        "The certificate of a web server is not trusted. NODE_EXTRA_CA_CERTS names a file with the certificates of private authorities."
      )
    : Effect.logDebug("A web server could not be reached.")
  ).pipe(Effect.annotateLogs({ host, code }))

/** Rejects an answer before all of it is read. */
class Unwanted extends Error {
  readonly fault: HopFault
  constructor(fault: HopFault) {
    super(fault)
    this.fault = fault
  }
}

/** Connects to the checked addresses only; the name of the host is used for TLS alone. */
const pinned =
  ({ address, addresses }: Hop, dial: Dial, connected: () => void): Dial =>
  (options, callback) => {
    const tried = addresses.slice(0, addressesTriedMax)
    const isNamed = options.protocol === "https:" && !address.isLiteral
    const attempt = (position: number): void => {
      const to = tried[position]
      if (to === undefined) return callback(new Error("No address accepts the connection"), null)
      const outcome: typeof callback = (error, socket) => {
        if (error === null) {
          connected()
          callback(null, socket)
        } else if (position + 1 < tried.length) attempt(position + 1)
        else callback(error, null)
      }
      dial(
        {
          protocol: options.protocol,
          port: options.port,
          host: to,
          hostname: to,
          ...(isNamed ? { servername: address.host } : {})
        },
        outcome
      )
    }
    attempt(0)
  }

const exchange = async (hop: Hop, client: Dispatcher, signal: AbortSignal): Promise<HopEnd> => {
  const { address, bytesMax, json, options } = hop
  const { body, headers, statusCode } = await client.request({
    origin: address.url.origin,
    path: address.url.pathname + address.url.search,
    method: json === null ? "GET" : "POST",
    headers: headersOf(hop),
    body: json,
    signal
  })
  // An unread body ends with the connection.
  body.on("error", () => {})
  const head = lastOfEach(headers)
  const location = head["location"]
  if (location !== undefined && redirectStatuses.has(statusCode)) {
    // The client decodes latin1, browsers UTF-8.
    return { type: "redirect", location: Buffer.from(location, "latin1").toString("utf8") }
  }
  const contentType = head["content-type"] ?? ""
  const mediaType = /^\s*([\w.+-]+\/[\w.+-]+)/.exec(contentType)?.[1]?.toLowerCase() ?? ""
  const answer = {
    url: address.url.href,
    status: statusCode,
    headers: head,
    mediaType,
    charset: /;\s*charset\s*=\s*["']?([\w-]{1,40})/i.exec(contentType)?.[1] ?? null,
    bytes: new Uint8Array(),
    isCut: false
  }
  if (statusCode < 200 || statusCode > 299) return { type: "answer", answer }
  if (options.accepts !== undefined && !options.accepts(mediaType)) throw new Unwanted("media_type")
  const decompressors = decompressorsOf(head["content-encoding"] ?? "")
  if (decompressors === null) throw new Unwanted("encoding")
  const sent = await readUpTo(body, bytesMax)
  const read = await decompress(sent, decompressors, bytesMax).catch(() => {
    throw new Unwanted("encoding")
  })
  return { type: "answer", answer: { ...answer, ...read } }
}

const headersOf = ({ isTrusted, json, options }: Hop): Record<string, string> => ({
  "user-agent": "Mozilla/5.0 (compatible; Parley)",
  accept: "*/*",
  "accept-encoding": "gzip, deflate, br, zstd",
  ...(json === null ? {} : { "content-type": "application/json" }),
  ...options.headers,
  ...(isTrusted
    ? Object.fromEntries(
        Object.entries(options.credentials ?? {}).map(([name, secret]) => [name, Redacted.value(secret)])
      )
    : {})
})

const lastOfEach = (
  headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const last = typeof value === "string" ? value : value?.at(-1)
      return last === undefined ? [] : [[name, last]]
    })
  )
