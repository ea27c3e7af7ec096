import { createHash, createHmac } from "node:crypto"
import type { IncomingMessage } from "node:http"

/** The AWS signature, version 4, as a server checks it: from what came over the wire, and nothing else. */

const minutesMax = 15

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

export interface SignedParts {
  readonly method: string
  /** The target of the request line, with the query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly signedHeaders: ReadonlyArray<string>
}

const sha256 = (text: string | Buffer) => createHash("sha256").update(text).digest("hex")
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest()

/** Percent-encodes as AWS does: everything but the unreserved characters. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

const recode = (text: string) => encode(decodeURIComponent(text))

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const canonicalQuery = (query: string) =>
  query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=")
      return [recode(name), recode(value.join("="))] as const
    })
    .toSorted(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join("&")

export const signatureOf = (parts: SignedParts, credentials: S3Credentials): string => {
  const [path = "", ...query] = parts.target.split("?")
  const time = parts.headers["x-amz-date"] ?? ""
  const day = time.slice(0, 8)
  const canonical = [
    parts.method,
    path.split("/").map(recode).join("/"),
    canonicalQuery(query.join("?")),
    ...parts.signedHeaders.map((name) => `${name}:${(parts.headers[name] ?? "").trim().replace(/ +/g, " ")}`),
    "",
    parts.signedHeaders.join(";"),
    parts.headers["x-amz-content-sha256"] ?? ""
  ].join("\n")
  const text = [
    "AWS4-HMAC-SHA256",
    time,
    `${day}/${credentials.region}/s3/aws4_request`,
    sha256(canonical)
  ].join("\n")
  const key = ["s3", "aws4_request"].reduce<Buffer>(
    hmac,
    hmac(hmac(`AWS4${credentials.secretAccessKey}`, day), credentials.region)
  )
  return hmac(key, text).toString("hex")
}

const timeOf = (text: string) =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))

const authorization =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/

/** The problem of a request, by the code that S3 gives it; null for a valid one. */
export const signatureProblem = (
  request: IncomingMessage,
  body: Buffer,
  credentials: S3Credentials
): string | null => {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)])
  )
  const [, accessKeyId, day, region, names = "", signature] =
    authorization.exec(headers["authorization"] ?? "") ?? []
  if (signature === undefined) return "AccessDenied"
  if (accessKeyId !== credentials.accessKeyId) return "InvalidAccessKeyId"
  const time = headers["x-amz-date"] ?? ""
  if (region !== credentials.region || day !== time.slice(0, 8)) return "AuthorizationHeaderMalformed"
  if (!(Math.abs(timeOf(time) - Date.now()) <= minutesMax * 60_000)) return "RequestTimeTooSkewed"
  const signedHeaders = names.split(";")
  const toBeSigned = ["host", "range", ...Object.keys(headers).filter((name) => name.startsWith("x-amz-"))]
  if (toBeSigned.some((name) => name in headers && !signedHeaders.includes(name))) return "AccessDenied"
  const parts = { method: request.method ?? "", target: request.url ?? "", headers, signedHeaders }
  if (signatureOf(parts, credentials) !== signature) return "SignatureDoesNotMatch"
  const payload = headers["x-amz-content-sha256"] ?? ""
  return payload === "UNSIGNED-PAYLOAD" || payload === sha256(body) ? null : "XAmzContentSHA256Mismatch"
}
