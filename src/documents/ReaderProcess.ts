import type { Writable } from "node:stream"
import { Context, Deferred, Effect, Stream } from "effect"
import { endGroup, memoryExceeded, spawnConfined } from "../confinement/ConfinedProcess.ts"
import { type NodeProgram, nodeProgram, type ProcessBounds } from "../confinement/NodeProgram.ts"
import { ExtractionFailed, type StorageFailed } from "../domain/Errors.ts"
import { answerBytesMax, crashed, decodeAnswer, wholeAnswerBytes } from "./Answer.ts"
import type { PageOptions, Reading, ReadingLimits } from "./Reading.ts"

/** The program of the reader. `self` is the module that it lies beside. */
export const readerProgram = (self: string = import.meta.url): NodeProgram =>
  nodeProgram(self, "./child.ts", "./extract.js")

/** The program that reads documents. Tests take the bundle's, which takes a third of the time to start. */
export const CurrentReaderProgram = Context.Reference<NodeProgram>("parley/documents/CurrentReaderProgram", {
  defaultValue: () => readerProgram()
})

/** A low priority leaves the rest of the machine responsive. */
const niceness = 10

/** The part of the memory for V8's heap; the program and its buffers need the rest. */
const heapPart = 0.75

/** Limits on the reading of one document. */
export interface ReaderLimits extends ReadingLimits {
  /** Time for the process to take the bytes, and again for it to answer. */
  readonly seconds: number
  readonly memoryBytes: number
}

/** Processor seconds per second of the time limit: a process may use several processors. */
const cpuPerSecond = 4

/** The bounds on the process that keep these limits. */
export const boundsOf = ({ memoryBytes, seconds }: ReaderLimits): ProcessBounds => ({
  heapBytes: memoryBytes * heapPart,
  cpuSeconds: seconds * cpuPerSecond,
  niceness
})

/** A document for the reader process. */
export interface ReaderInput {
  readonly bytes: Stream.Stream<Uint8Array, StorageFailed>
  /** The extension of the file name, in lower case and without its dot. */
  readonly extension: string
  readonly page?: PageOptions
}

/** Reads one document in a process of its own, which has ended when this ends, whatever the outcome. */
export const readInProcess = (
  program: NodeProgram,
  limits: ReaderLimits,
  input: ReaderInput
): Effect.Effect<Reading, ExtractionFailed | StorageFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const ends: ReaderEnds = {
        answered: yield* Deferred.make<Buffer, ExtractionFailed>(),
        closed: yield* Deferred.make<void>()
      }
      const child = yield* Effect.acquireRelease(
        Effect.sync(() => spawnReader(program, limits, input, ends)),
        (running) =>
          Effect.suspend(() => {
            endGroup(running)
            // The memory of a killed process must be free before the next one starts.
            return Deferred.await(ends.closed)
          })
      )
      const fed = feed(child.stdin, input.bytes).pipe(
        orTooLong(limits.seconds),
        Effect.andThen(Effect.never.pipe(orTooLong(limits.seconds)))
      )
      const answer = yield* Deferred.await(ends.answered).pipe(
        Effect.raceFirst(fed),
        Effect.raceFirst(Effect.andThen(memoryExceeded(child, limits.memoryBytes), Effect.fail(tooLarge())))
      )
      return yield* decodeAnswer(answer, limits.textBytesMax)
    })
  )

/** The answer of the process, and its end. */
interface ReaderEnds {
  readonly answered: Deferred.Deferred<Buffer, ExtractionFailed>
  readonly closed: Deferred.Deferred<void>
}

const spawnReader = (
  program: NodeProgram,
  limits: ReaderLimits,
  { extension, page }: ReaderInput,
  { answered, closed }: ReaderEnds
) => {
  const { documentBytesMax, pagesMax, textBytesMax } = limits
  const { child, isHeapFull } = spawnConfined(program, boundsOf(limits), {
    args: [
      extension,
      ...[textBytesMax, documentBytesMax, pagesMax].map(String),
      ...(page === undefined ? [] : [page.url, String(page.charactersMax)]),
      ...(page?.charset ? [page.charset] : [])
    ]
  })
  const answer: Array<Buffer> = []
  let answerBytes = 0
  let wholeBytes: number | null = null
  child.stdout.on("data", (bytes: Buffer) => {
    answerBytes += bytes.length
    if (answerBytes > answerBytesMax(textBytesMax)) return endGroup(child)
    answer.push(bytes)
    if (wholeBytes === null) wholeBytes = wholeAnswerBytes(Buffer.concat(answer))
    // Don't wait for the end of the process: Node may hang there while V8's threads collect garbage.
    if (wholeBytes !== null && answerBytes >= wholeBytes) {
      Deferred.doneUnsafe(answered, Effect.succeed(Buffer.concat(answer)))
    }
  })
  // It may end before it has taken all bytes.
  child.stdin.on("error", () => {})
  child.once("error", () => {
    Deferred.doneUnsafe(answered, Effect.fail(crashed()))
    Deferred.doneUnsafe(closed, Effect.void)
  })
  child.once("close", (code) => {
    Deferred.doneUnsafe(closed, Effect.void)
    Deferred.doneUnsafe(
      answered,
      code === 0 && answerBytes <= answerBytesMax(textBytesMax)
        ? Effect.succeed(Buffer.concat(answer))
        : Effect.fail(isHeapFull() ? tooLarge() : crashed())
    )
  })
  return child
}

/** Writes the bytes to the process until it takes no more. */
const feed = (
  stdin: Writable,
  bytes: Stream.Stream<Uint8Array, StorageFailed>
): Effect.Effect<void, StorageFailed> =>
  bytes.pipe(
    Stream.mapEffect((piece) =>
      Effect.callback<boolean>((resume) => {
        stdin.write(piece, (error) => resume(Effect.succeed(error == null)))
      })
    ),
    Stream.takeWhile((isTaken) => isTaken),
    Stream.runDrain,
    Effect.andThen(Effect.sync(() => void stdin.end()))
  )

const tooLarge = () =>
  new ExtractionFailed({
    reason: "too_large",
    message: "The document could not be read: it needs more memory than is allowed."
  })

const orTooLong = (seconds: number) =>
  Effect.timeoutOrElse({
    duration: `${seconds} seconds`,
    orElse: () =>
      new ExtractionFailed({
        reason: "too_long",
        message: `The document could not be read within ${seconds} seconds.`
      })
  })

/** The reader works if it reads this. */
const probeText = "The reader works."
const probeSeconds = 10

/** Tells if a reader works, as this program with its launcher. */
export const works = (program: NodeProgram, limits: ReaderLimits): Effect.Effect<boolean> =>
  readInProcess(
    program,
    { ...limits, seconds: probeSeconds },
    { bytes: Stream.make(Buffer.from(probeText)), extension: "txt" }
  ).pipe(
    Effect.map(({ text }) => text === probeText),
    Effect.orElseSucceed(() => false)
  )
