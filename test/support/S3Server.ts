import { createHash, randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Context, Effect, Layer, Redacted } from "effect"
import type { Settings } from "../../src/settings/AppConfig.ts"
import { type S3Credentials, signatureProblem } from "./S3Signature.ts"
import { serveOnLoopback } from "./serveOnLoopback.ts"

/**
 * Faults that the server makes in place of its work, or after it:
 * - `500`, `SlowDown`: refuses with that code and does nothing
 * - `cut before`, `cut after`: drops the connection without an answer, before it has done anything or after
 *   it has done all
 * - `cut within`: sends half of the answer's body, then drops the connection
 * - `short`: says that the body is shorter than it is, and sends so much
 * - `stall`: never answers; `stall within`: stops after half of the body
 * - `error in 200`: answers 200 with an error in the body, as S3 does when a completion fails late
 */
export type S3Fault =
  | "500"
  | "SlowDown"
  | "cut before"
  | "cut after"
  | "cut within"
  | "short"
  | "stall"
  | "stall within"
  | "error in 200"

interface Stored {
  readonly bytes: Buffer
  readonly etag: string
  modified: number
}

interface Upload {
  readonly name: string
  readonly parts: Map<number, Buffer>
  initiated: number
}

interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
}

type Bucket = NonNullable<Settings["files"]["s3"]>

/** Smaller parts are refused by S3, the last one excepted. */
const s3PartBytesMin = 5 * 1024 * 1024
/** Entries of one page of a list, whatever is asked for, so that lists come in pages. */
const pageEntriesMax = 20

const credentials: S3Credentials = {
  accessKeyId: "TESTKEY",
  secretAccessKey: "secret/with+signs=",
  region: "test-region-1"
}
const bucketName = "test-bucket"

const md5 = (bytes: Buffer) => createHash("md5").update(bytes).digest("hex")
const entities: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot" }
const escapeXml = (text: string) => text.replace(/[<>&"]/g, (c) => `&${entities[c]};`)
const field = (name: string, value: string | number | boolean) =>
  `<${name}>${escapeXml(String(value))}</${name}>`
const xml = (root: string, content: string): Answer => ({
  status: 200,
  headers: { "content-type": "application/xml" },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content}</${root}>`
})

const statusOf: Readonly<Record<string, number>> = {
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NoSuchBucket: 404,
  InvalidRange: 416,
  InternalError: 500,
  SlowDown: 503,
  MethodNotAllowed: 405,
  NotImplemented: 501
}
const refusal = (code: string): Answer => {
  const status = statusOf[code] ?? (code.startsWith("Invalid") || code.startsWith("Entity") ? 400 : 403)
  return { ...xml("Error", field("Code", code) + field("Message", code)), status }
}

/** The content and behavior of the bucket, without HTTP. */
class Contents {
  readonly objects = new Map<string, Stored>()
  readonly uploads = new Map<string, Upload>()
  private readonly partBytesMin: number

  constructor(partBytesMin: number) {
    this.partBytesMin = partBytesMin
  }

  store(name: string, bytes: Buffer, etag = `"${md5(bytes)}"`): string {
    this.objects.set(name, { bytes, etag, modified: Date.now() })
    return etag
  }

  answer(
    method: string,
    name: string,
    query: URLSearchParams,
    headers: IncomingMessage["headers"],
    body: Buffer
  ): Answer {
    const has = (key: string) => query.has(key)
    if (name === "") {
      if (method === "GET" && has("uploads")) return this.listUploads(query)
      if (method === "GET" && query.get("list-type") === "2") return this.list(query)
      return refusal("MethodNotAllowed")
    }
    const id = query.get("uploadId")
    if (method === "POST" && has("uploads")) return this.begin(name)
    if (id !== null) {
      const upload = this.uploads.get(id)
      if (upload?.name !== name) return refusal("NoSuchUpload")
      if (method === "PUT") return this.addPart(upload, Number(query.get("partNumber")), body)
      if (method === "POST") return this.complete(id, upload, body.toString())
      if (method === "DELETE") return this.abort(id)
    }
    if (method === "PUT") return this.put(name, body)
    if (method === "DELETE") return this.remove(name)
    return method === "GET" || method === "HEAD" ? this.get(name, headers.range) : refusal("MethodNotAllowed")
  }

  private put(name: string, bytes: Buffer): Answer {
    return { status: 200, headers: { etag: this.store(name, bytes) } }
  }

  private remove(name: string): Answer {
    this.objects.delete(name)
    return { status: 204 }
  }

  private get(name: string, range: string | undefined): Answer {
    const found = this.objects.get(name)
    if (found === undefined) return refusal("NoSuchKey")
    const size = found.bytes.length
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? []
    const headers = {
      etag: found.etag,
      "last-modified": new Date(found.modified).toUTCString(),
      "accept-ranges": "bytes"
    }
    if (first === undefined) return { status: 200, headers, body: found.bytes }
    const start = Number(first)
    const end = last === "" ? size : Math.min(size, Number(last) + 1)
    if (start >= size || end <= start) return refusal("InvalidRange")
    return {
      status: 206,
      headers: { ...headers, "content-range": `bytes ${start}-${end - 1}/${size}` },
      body: found.bytes.subarray(start, end)
    }
  }

  private begin(name: string): Answer {
    const id = `${randomUUID()}+/=`
    this.uploads.set(id, { name, parts: new Map(), initiated: Date.now() })
    return xml("InitiateMultipartUploadResult", field("Key", name) + field("UploadId", id))
  }

  private addPart(upload: Upload, partNumber: number, bytes: Buffer): Answer {
    if (!(partNumber >= 1 && partNumber <= 10_000)) return refusal("InvalidArgument")
    upload.parts.set(partNumber, bytes)
    return { status: 200, headers: { etag: `"${md5(bytes)}"` } }
  }

  private complete(id: string, upload: Upload, body: string): Answer {
    const listed = [...body.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)]
    const parts = listed.map(([, number, etag = ""]) => ({
      number: Number(number),
      etag: etag.replace(/&quot;|"/g, ""),
      bytes: upload.parts.get(Number(number))
    }))
    if (parts.length === 0) return refusal("InvalidRequest")
    if (parts.some(({ number }, at) => at > 0 && number <= parts[at - 1]!.number))
      return refusal("InvalidPartOrder")
    const chunks = parts.flatMap(({ bytes, etag }) =>
      bytes !== undefined && md5(bytes) === etag ? [bytes] : []
    )
    if (chunks.length < parts.length) return refusal("InvalidPart")
    if (chunks.slice(0, -1).some((bytes) => bytes.length < this.partBytesMin))
      return refusal("EntityTooSmall")
    const bytes = Buffer.concat(chunks)
    this.uploads.delete(id)
    const etag = this.store(upload.name, bytes, `"${md5(bytes)}-${chunks.length}"`)
    return xml("CompleteMultipartUploadResult", field("Key", upload.name) + field("ETag", etag))
  }

  private abort(id: string): Answer {
    this.uploads.delete(id)
    return { status: 204 }
  }

  private list(query: URLSearchParams): Answer {
    const prefix = query.get("prefix") ?? ""
    const after = query.get("continuation-token") ?? ""
    const most = Math.min(pageEntriesMax, Number(query.get("max-keys") ?? pageEntriesMax))
    const names = [...this.objects.keys()]
      .filter((name) => name.startsWith(prefix) && name > after)
      .toSorted()
    const page = names.slice(0, most)
    const isTruncated = page.length < names.length
    const contents = page.map((name) => {
      const { bytes, etag, modified } = this.objects.get(name)!
      const fields = [
        field("Key", name),
        field("LastModified", new Date(modified).toISOString()),
        field("ETag", etag),
        field("Size", bytes.length)
      ]
      return `<Contents>${fields.join("")}</Contents>`
    })
    const next = isTruncated ? field("NextContinuationToken", page.at(-1)!) : ""
    const head = field("Name", bucketName) + field("Prefix", prefix) + field("IsTruncated", isTruncated)
    return xml("ListBucketResult", head + next + contents.join(""))
  }

  private listUploads(query: URLSearchParams): Answer {
    const prefix = query.get("prefix") ?? ""
    const marker = `${query.get("key-marker") ?? ""}\n${query.get("upload-id-marker") ?? ""}`
    const all = [...this.uploads]
      .filter(([, { name }]) => name.startsWith(prefix))
      .map(([id, { initiated, name }]) => ({ id, initiated, name, place: `${name}\n${id}` }))
      .filter(({ place }) => place > marker || marker === "\n")
      .toSorted((a, b) => (a.place < b.place ? -1 : 1))
    const page = all.slice(0, pageEntriesMax)
    const isTruncated = page.length < all.length
    const uploads = page.map(
      ({ id, initiated, name }) =>
        `<Upload>${field("Key", name)}${field("UploadId", id)}${field("Initiated", new Date(initiated).toISOString())}</Upload>`
    )
    const last = page.at(-1)
    const next = isTruncated ? field("NextKeyMarker", last!.name) + field("NextUploadIdMarker", last!.id) : ""
    const head = field("Bucket", bucketName) + "<KeyMarker></KeyMarker>" + field("IsTruncated", isTruncated)
    return xml("ListMultipartUploadsResult", head + next + uploads.join(""))
  }
}

/** Sends an answer, as far as the fault lets it. */
const send = (response: ServerResponse, method: string, answer: Answer, fault: S3Fault | null): void => {
  const body = Buffer.from(answer.body ?? "")
  const half = Math.floor(body.length / 2)
  const length = fault === "short" ? half : body.length
  // An answer without a body has no length either.
  const lengthHeader = answer.status === 204 ? {} : { "content-length": String(length) }
  response.writeHead(answer.status, { ...lengthHeader, ...answer.headers, "x-amz-request-id": randomUUID() })
  if (method === "HEAD") response.end()
  else if (fault === "cut within") response.write(body.subarray(0, half), () => response.socket?.destroy())
  else if (fault === "stall within") response.write(body.subarray(0, half))
  else response.end(body.subarray(0, length))
}

/** A bucket on this machine that checks the signature of every request and misbehaves when a test says so. */
export class S3Server extends Context.Service<
  S3Server,
  {
    readonly bucket: Bucket
    readonly objects: ReadonlyMap<string, Stored>
    readonly uploads: ReadonlyMap<string, Upload>
    /** Counts from one again; the n-th request and the `times - 1` after it meet the fault. */
    readonly failRequest: (n: number, fault: S3Fault, times?: number) => Effect.Effect<void>
    /** Counts from one again, and lets every request through. */
    readonly off: Effect.Effect<void>
    /** Requests since the last `failRequest` or `off` by method and query, and whether one met the fault. */
    readonly seen: Effect.Effect<{ readonly requests: ReadonlyArray<string>; readonly failed: boolean }>
    /**
     * From now on, requests with this name in their query are refused with the code, by a server that can't
     * do them.
     */
    readonly refuse: (queryName: string, code: string) => Effect.Effect<void>
    /** The codes of all requests that were refused for their signature. */
    readonly unsigned: ReadonlyArray<string>
    /** Makes everything in the bucket older. */
    readonly age: (millis: number) => Effect.Effect<void>
    /** Something that others keep in the bucket, or an upload that somebody began. */
    readonly place: (name: string) => Effect.Effect<void>
    readonly begin: (name: string) => Effect.Effect<void>
  }
>()("parley/test/S3Server") {
  /** `partBytesMin` in place of what S3 demands lets a test have many parts of few bytes. */
  static readonly layer = (partBytesMin = s3PartBytesMin): Layer.Layer<S3Server> =>
    Layer.effect(
      S3Server,
      Effect.gen(function* () {
        const contents = new Contents(partBytesMin)
        const unsigned: Array<string> = []
        let requests: Array<string> = []
        let chosen: { readonly n: number; readonly fault: S3Fault; readonly times: number } | null = null
        let failed = false
        const refused = new Map<string, string>()

        const handle = (request: IncomingMessage, body: Buffer, response: ServerResponse) => {
          const url = new URL(request.url ?? "", "http://localhost")
          const method = request.method ?? ""
          requests.push(`${method} ${url.search}`)
          const isFaulty =
            chosen !== null && requests.length >= chosen.n && requests.length < chosen.n + chosen.times
          const fault = isFaulty ? (chosen?.fault ?? null) : null
          failed ||= isFaulty
          if (fault === "cut before") return request.socket.destroy()
          if (fault === "stall") return
          if (fault === "500") return send(response, method, refusal("InternalError"), null)
          if (fault === "SlowDown") return send(response, method, refusal("SlowDown"), null)
          const problem = signatureProblem(request, body, credentials)
          if (problem !== null) {
            unsigned.push(problem)
            return send(response, method, refusal(problem), null)
          }
          if (fault === "error in 200" && method === "POST") {
            return send(response, method, { ...refusal("InternalError"), status: 200 }, null)
          }
          for (const [name, code] of refused) {
            if (url.searchParams.has(name)) return send(response, method, refusal(code), null)
          }
          const [, bucket, ...path] = decodeURIComponent(url.pathname).split("/")
          const answer =
            bucket === bucketName
              ? contents.answer(method, path.join("/"), url.searchParams, request.headers, body)
              : refusal("NoSuchBucket")
          if (fault === "cut after") return request.socket.destroy()
          return send(response, method, answer, fault)
        }

        const server = createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => handle(request, Buffer.concat(chunks), response))
          request.on("error", () => {})
        })
        const port = yield* serveOnLoopback(server)
        const choose = (choice: typeof chosen) =>
          Effect.sync(() => {
            chosen = choice
            failed = false
            requests = []
          })
        return {
          bucket: {
            endpoint: `http://127.0.0.1:${port}/`,
            bucket: bucketName,
            prefix: "parley files/a+b=c&é/",
            region: credentials.region,
            accessKeyId: credentials.accessKeyId,
            secretAccessKey: Redacted.make(credentials.secretAccessKey),
            retrySeconds: 30
          },
          objects: contents.objects,
          uploads: contents.uploads,
          failRequest: (n, fault, times = 1) => choose({ n, fault, times }),
          off: choose(null),
          refuse: (queryName, code) => Effect.sync(() => void refused.set(queryName, code)),
          seen: Effect.sync(() => ({ requests, failed })),
          unsigned,
          age: (millis) =>
            Effect.sync(() => {
              for (const stored of contents.objects.values()) stored.modified -= millis
              for (const upload of contents.uploads.values()) upload.initiated -= millis
            }),
          place: (name) => Effect.sync(() => void contents.store(name, Buffer.from("x"))),
          begin: (name) =>
            Effect.sync(() => {
              contents.uploads.set(randomUUID(), { name, parts: new Map(), initiated: Date.now() })
            })
        }
      })
    )
}
