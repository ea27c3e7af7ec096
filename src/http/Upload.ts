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

/** Parts that a form may have. */
const partsMax = 20
/** Bytes that may stand around the file: other parts, their headers, and what lies before and after them. */
export const surroundingBytesMax = 1_048_576
/** Bytes that the longest purpose, and any other text of a form, may have in UTF-8. */
const textBytesMax = purposeCharactersMax * 3

/** The parts that say something of the file. */
const textParts = ["purpose", "expires_after", "expires_after[anchor]", "expires_after[seconds]"] as const
type TextPart = (typeof textParts)[number]

/** An upload while it is read: the bytes of the file go through, everything else is kept or dropped here. */
export interface UploadForm {
  readonly write: (bytes: Uint8Array) => void
  /** No more bytes will come. */
  readonly end: () => void
  /** What is wrong with the form so far. Nothing else counts then. */
  readonly problem: () => UploadInvalid | null
  /** `open` from the file's header on, `whole` once all of its bytes were written. */
  readonly file: () => "awaited" | "open" | "whole"
  /** The bytes of the file that were written since the last call. */
  readonly take: () => ReadonlyArray<Uint8Array>
  /** What the other parts say; to be asked at the end. */
  readonly about: () => AboutFile
}

/** A name between quotes, as browsers and most libraries write it. Source: HTML, multipart form data, escaping. */
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
  // A file that is to expire must not be kept for good because its time came in another form.
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

const problemOf = (name: TextPart, text: string): string | null =>
  expectations[name].isMet(text) ? null : expectations[name].expected

/** Neither of them means anything without the other. */
const expiryPairs = [
  ["expires_after[anchor]", "expires_after[seconds]"],
  ["expires_after[seconds]", "expires_after[anchor]"]
] as const

const ignored: PartSink = () => {}

type PartSink = (chunk: Uint8Array | null) => void

/** Reads a form whose parts may come in any order. Memory is bounded by what is written at a time. */
export const makeUploadForm = (headers: Headers.Headers): UploadForm => {
  let problem: UploadInvalid | null = null
  let file: "awaited" | "open" | "whole" = "awaited"
  let filename = ""
  let pieces: Array<Uint8Array> = []
  const texts = new Map<TextPart, string>()
  let done = false
  let written = 0
  let fileBytes = 0

  const fail = (param: string, message: string) => {
    if (!done) problem ??= new UploadInvalid({ param, message })
  }

  const readFile = (info: MultipartParser.PartInfo): PartSink => {
    // curl's `-F file=report.pdf` sends the name as a text; a file has a name of its own.
    if (info.filename === undefined) {
      fail(
        "file",
        "`file` is a text and no file. With curl, put an @ before its path: `-F file=@report.pdf`."
      )
    }
    filename = nameOf(info)
    if (filename.length > filenameCharactersMax) {
      fail("file", `The name of \`file\` has more than ${filenameCharactersMax} characters.`)
    }
    file = "open"
    return (chunk) => {
      if (chunk === null) {
        file = "whole"
      } else if (chunk.length > 0) {
        fileBytes += chunk.length
        pieces.push(chunk)
      }
    }
  }

  const readText = (name: TextPart): PartSink => {
    const kept: Array<Uint8Array> = []
    let bytes = 0
    texts.set(name, "")
    return (chunk) => {
      if (chunk !== null) {
        bytes += chunk.length
        if (bytes <= textBytesMax) kept.push(chunk)
        return
      }
      const text = bytes > textBytesMax ? null : decoded(kept)
      const expected = text === null ? expectations[name].expected : problemOf(name, text)
      if (expected !== null) fail(name, `\`${name}\` must be ${expected}.`)
      else texts.set(name, text ?? "")
    }
  }

  const sinkFor = (info: MultipartParser.PartInfo): PartSink => {
    const text = textParts.find((name) => name === info.name)
    const isRepeated = info.name === "file" ? file !== "awaited" : text !== undefined && texts.has(text)
    if (isRepeated) fail(info.name, `\`${info.name}\` is there more than once.`)
    if (isRepeated) return ignored
    if (text !== undefined) return readText(text)
    return info.name === "file" ? readFile(info) : ignored
  }

  const parser = MultipartParser.make({
    headers,
    maxParts: partsMax,
    isFile: () => true,
    onFile: sinkFor,
    onField: () => {},
    onError: (error) => fail("", messages[error._tag]),
    onDone: () => {
      if (file === "awaited") fail("file", "`file` is missing.")
      for (const [name, other] of expiryPairs) {
        if (texts.has(name) && !texts.has(other)) fail(other, `\`${other}\` is missing beside \`${name}\`.`)
      }
      done = true
    }
  })

  return {
    write: (bytes) => {
      written += bytes.length
      if (!done) parser.write(bytes)
      // What comes after the end counts too.
      if (written - fileBytes > surroundingBytesMax) {
        problem ??= new UploadInvalid({ param: "", message: "The body holds too much besides the file." })
      }
    },
    end: () => {
      if (!done) parser.end()
    },
    problem: () => problem,
    file: () => file,
    take: () => {
      const taken = pieces
      pieces = []
      return taken
    },
    about: () => {
      const seconds = texts.get("expires_after[seconds]")
      return {
        filename: cleanFilename(filename),
        purpose: texts.get("purpose") ?? defaultPurpose,
        expiresAfterSeconds: seconds === undefined ? null : Number(seconds)
      }
    }
  }
}

interface BodyTimeouts {
  /** In which the whole body must have arrived. */
  readonly uploadSeconds: number
  /** In which some of the body must arrive. */
  readonly idleSeconds: number
}

/** The pieces of a body as they arrive, within these times. */
export const pullBody = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  { idleSeconds, uploadSeconds }: BodyTimeouts
) {
  const pull = yield* Stream.toPull(request.stream)
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
 * Reads the body of an upload as far as the file's first byte. The file itself is read as it is taken; `about` reads what
 * comes after it, and fails if that spoils the whole. No more than the network's own pieces is held in memory.
 */
export const readUpload = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  limits: UploadLimits
) {
  // Told before it is sent, where the client waits to hear.
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
