import { Array, Cause, Clock, Duration, Effect, Pull, Stream } from "effect"
import { type Headers, type HttpServerRequest, MultipartParser } from "effect/http"
import { FileTooLarge, UploadCut, UploadInvalid } from "../domain/Errors.ts"
import {
  type AboutFile,
  cleanFilename,
  defaultPurpose,
  expirySecondsMax,
  expirySecondsMin,
  filenameCharactersMax,
  isPurpose,
  purposeCharactersMax
} from "../domain/StoredFile.ts"
import { freed } from "./TransferMemory.ts"

/** Most parts of a form. */
const partsMax = 20
/** Bytes of the body besides the file: other parts, all headers, preamble and epilogue. */
export const surroundingBytesMax = 1_048_576
/** Bytes of a text part in UTF-8; the longest is a purpose. */
const textBytesMax = purposeCharactersMax * 3

const textParts = ["purpose", "expires_after", "expires_after[anchor]", "expires_after[seconds]"] as const
type TextPart = (typeof textParts)[number]

/**
 * Decodes a quoted name as browsers and most libraries write it. Source: HTML, multipart form data, escaping.
 */
const unquoted = (name: string): string =>
  name.replaceAll('\\"', '"').replace(/%(?:22|0D|0A)/gi, (escape) => decodeURIComponent(escape))

const nameOf = ({ contentDispositionParameters, filename }: MultipartParser.PartInfo): string => {
  if (filename === undefined) return ""
  return contentDispositionParameters["filename*"] === undefined ? unquoted(filename) : filename
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const decoded = (pieces: ReadonlyArray<Uint8Array>): string | null => {
  try {
    return utf8.decode(Buffer.concat(pieces))
  } catch {
    return null
  }
}

const messages: { readonly [Tag in MultipartParser.MultipartError["_tag"]]: string } = {
  InvalidBoundary: "The content type of the body names no boundary.",
  BadHeaders: "A part of the body has headers that can't be read.",
  InvalidDisposition: "A part of the body has no readable `Content-Disposition` with a name.",
  ReachedLimit: `The body has more than ${partsMax} parts.`,
  EndNotReached: "The body ends before its last part does."
}

interface Expectation {
  readonly isMet: (text: string) => boolean
  readonly expected: string
}

const expectations: { readonly [Name in TextPart]: Expectation } = {
  purpose: { isMet: isPurpose, expected: `1 to ${purposeCharactersMax} characters` },
  // Refused rather than ignored, or a file that is to expire would be kept for good.
  expires_after: {
    isMet: () => false,
    expected: "two parts, `expires_after[anchor]` and `expires_after[seconds]`"
  },
  "expires_after[anchor]": { isMet: (text) => text === "created_at", expected: "`created_at`" },
  "expires_after[seconds]": {
    isMet: (text) =>
      /^\d{1,9}$/.test(text) && Number(text) >= expirySecondsMin && Number(text) <= expirySecondsMax,
    expected: `a whole number from ${expirySecondsMin} to ${expirySecondsMax}`
  }
}

/** Each needs the other. */
const expiryPairs = [
  ["expires_after[anchor]", "expires_after[seconds]"],
  ["expires_after[seconds]", "expires_after[anchor]"]
] as const

/** Gets the bytes of one part, and null after them. */
type PartSink = (chunk: Uint8Array | null) => void

const ignored: PartSink = () => {}

/** A form while it is parsed. The bytes of the file pass through; the other parts are kept or ignored. */
interface Form {
  /** The first problem so far. With a problem, nothing else is valid. */
  problem: UploadInvalid | null
  /** `open` after the header of the file, `whole` after its last byte. */
  file: "awaited" | "open" | "whole"
  filename: string
  /** The bytes of the file that were not taken yet. */
  pieces: Array<Uint8Array>
  fileBytes: number
  readonly texts: Map<TextPart, string>
  isDone: boolean
}

const fail = (form: Form, param: string, message: string): void => {
  if (!form.isDone) form.problem ??= new UploadInvalid({ param, message })
}

const readFile = (form: Form, info: MultipartParser.PartInfo): PartSink => {
  // curl's `-F file=report.pdf` sends the name as a text; a file has a filename.
  if (info.filename === undefined) {
    const message =
      "`file` is a text and no file. With curl, put an @ before its path: `-F file=@report.pdf`."
    fail(form, "file", message)
  }
  form.filename = nameOf(info)
  if (form.filename.length > filenameCharactersMax) {
    fail(form, "file", `The name of \`file\` has more than ${filenameCharactersMax} characters.`)
  }
  form.file = "open"
  return (chunk) => {
    if (chunk === null) {
      form.file = "whole"
    } else if (chunk.length > 0) {
      form.fileBytes += chunk.length
      form.pieces.push(chunk)
    }
  }
}

const readText = (form: Form, name: TextPart): PartSink => {
  const kept: Array<Uint8Array> = []
  let bytes = 0
  form.texts.set(name, "")
  return (chunk) => {
    if (chunk !== null) {
      bytes += chunk.length
      if (bytes <= textBytesMax) kept.push(chunk)
      return
    }
    const text = bytes > textBytesMax ? null : decoded(kept)
    const { expected, isMet } = expectations[name]
    if (text !== null && isMet(text)) form.texts.set(name, text)
    else fail(form, name, `\`${name}\` must be ${expected}.`)
  }
}

const sinkFor = (form: Form, info: MultipartParser.PartInfo): PartSink => {
  const text = textParts.find((name) => name === info.name)
  const isRepeated =
    info.name === "file" ? form.file !== "awaited" : text !== undefined && form.texts.has(text)
  if (isRepeated) fail(form, info.name, `\`${info.name}\` is there more than once.`)
  if (isRepeated) return ignored
  if (text !== undefined) return readText(form, text)
  return info.name === "file" ? readFile(form, info) : ignored
}

const checkWhole = (form: Form): void => {
  if (form.file === "awaited") fail(form, "file", "`file` is missing.")
  for (const [name, other] of expiryPairs) {
    const isAlone = form.texts.has(name) && !form.texts.has(other)
    if (isAlone) fail(form, other, `\`${other}\` is missing beside \`${name}\`.`)
  }
}

/** The parts may have any order. Memory is bounded by the size of one write. */
export const makeUploadForm = (headers: Headers.Headers) => {
  const form: Form = {
    problem: null,
    file: "awaited",
    filename: "",
    pieces: [],
    fileBytes: 0,
    texts: new Map(),
    isDone: false
  }
  let written = 0

  const parser = MultipartParser.make({
    headers,
    maxParts: partsMax,
    isFile: () => true,
    onFile: (info) => sinkFor(form, info),
    onField: () => {},
    onError: (error) => fail(form, "", messages[error._tag]),
    onDone: () => {
      checkWhole(form)
      form.isDone = true
    }
  })

  return {
    write: (bytes: Uint8Array): void => {
      written += bytes.length
      if (!form.isDone) parser.write(bytes)
      // The epilogue counts too.
      if (written - form.fileBytes > surroundingBytesMax) {
        form.problem ??= new UploadInvalid({
          param: "",
          message: "The body holds too much besides the file."
        })
      }
    },
    end: (): void => {
      if (!form.isDone) parser.end()
    },
    problem: () => form.problem,
    file: () => form.file,
    /** The bytes of the file since the last call. */
    take: (): ReadonlyArray<Uint8Array> => form.pieces.splice(0),
    /** The other parts; valid after `end`. */
    about: (): AboutFile => {
      const seconds = form.texts.get("expires_after[seconds]")
      return {
        filename: cleanFilename(form.filename),
        purpose: form.texts.get("purpose") ?? defaultPurpose,
        expiresAfterSeconds: seconds === undefined ? null : Number(seconds)
      }
    }
  }
}

interface BodyTimeouts {
  /** Time for the whole body. */
  readonly uploadSeconds: number
  /** Time until the next bytes of the body. */
  readonly idleSeconds: number
}

/** Chunks of the network, of 64 KiB mostly, that are received while earlier ones are stored. */
const chunksAheadMax = 16

/** The pieces of a body as they arrive, within these times. */
export const pullBody = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  { idleSeconds, uploadSeconds }: BodyTimeouts
) {
  const pull = yield* Stream.toPull(Stream.buffer(freed(request.stream), { capacity: chunksAheadMax }))
  const end = (yield* Clock.monotonicTimeNanos) + BigInt(uploadSeconds) * 1_000_000_000n
  return Effect.gen(function* () {
    const left = end - (yield* Clock.monotonicTimeNanos)
    return yield* pull.pipe(
      Effect.catchTag("HttpServerError", () => Effect.fail(new UploadCut({ reason: "cut" }))),
      Effect.timeoutOrElse({
        duration: Duration.min(Duration.seconds(idleSeconds), Duration.nanos(left > 0n ? left : 0n)),
        orElse: () => Effect.fail(new UploadCut({ reason: "slow" }))
      })
    )
  })
})

interface UploadLimits extends BodyTimeouts {
  readonly fileBytesMax: number
}

/**
 * Reads the body of an upload up to the first byte of the file. `bytes` streams the file; `about` then reads
 * the rest of the body and fails if it is invalid. Memory holds no more than `chunksAheadMax` chunks, and
 * what the store takes.
 */
export const readUpload = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  limits: UploadLimits
) {
  // Refused before the body is sent, if the client waits for `100 Continue`.
  if (Number(request.headers["content-length"]) > limits.fileBytesMax + surroundingBytesMax) {
    return yield* new FileTooLarge({ bytesMax: limits.fileBytesMax })
  }
  const form = makeUploadForm(request.headers)
  const pull = yield* pullBody(request, limits)
  const next = Pull.catchDone(pull, () => Effect.succeed(null))
  const body = { ended: false }

  const check = Effect.suspend(() => {
    const problem = form.problem()
    return problem === null ? Effect.void : Effect.fail(problem)
  })

  const advance = Effect.gen(function* () {
    const pieces = yield* next
    body.ended = pieces === null
    if (pieces === null) form.end()
    else for (const piece of pieces) form.write(piece)
    yield* check
  })

  yield* check
  while (form.file() === "awaited") yield* advance

  const pieces = Effect.suspend(function take(): Pull.Pull<
    Array.NonEmptyReadonlyArray<Uint8Array>,
    Effect.Error<typeof advance>
  > {
    const taken = form.take()
    if (Array.isReadonlyArrayNonEmpty(taken)) return Effect.succeed(taken)
    return form.file() === "whole" ? Cause.done() : Effect.flatMap(advance, take)
  })

  const about = Effect.gen(function* () {
    while (!body.ended) yield* advance
    return form.about()
  })

  return { bytes: Stream.fromPull(Effect.succeed(pieces)), about }
})
