import { Deferred, Effect, Stream } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { ExtractionFailed, type StorageFailed } from "../domain/Errors.ts"
import { answerBytesMax, crashed, decodeAnswer, wholeAnswerBytes } from "./Answer.ts"
import type { Reading } from "./Reading.ts"
import { commandOf, type ReaderProgram } from "./ReaderProgram.ts"
import { memoryPollMillis, residentBytes } from "./residentBytes.ts"

/** What the reading of one file may cost, whatever is in it. */
export interface ReaderLimits {
  /** For the bytes to get to the process, and again for the process to answer. */
  readonly seconds: number
  readonly memoryBytes: number
  readonly textBytesMax: number
  readonly documentBytesMax: number
  readonly pagesMax: number
}

/** A process uses more than one processor at times; the kernel ends it when it has used them for this many times as long. */
const cpuPerSecond = 4

/** The end of what a process wrote about its own end: V8 says there if its heap was too small. */
const complaintBytesMax = 16 * 1024

/**
 * Reads one file in a process of its own, which is gone when this ends, however it ends. `extension` is that of the file's
 * name, in lower case and without its dot.
 */
export const readInProcess = (
  program: ReaderProgram,
  limits: ReaderLimits,
  file: { readonly bytes: Stream.Stream<Uint8Array, StorageFailed>; readonly extension: string }
): Effect.Effect<Reading, ExtractionFailed | StorageFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const reader = yield* startReader(program, limits, file.extension)
      const given = feed(reader, file.bytes).pipe(
        orTooLong(limits.seconds),
        Effect.andThen(Effect.never.pipe(orTooLong(limits.seconds)))
      )
      const answer = yield* reader.answer.pipe(
        Effect.raceFirst(given),
        Effect.raceFirst(watchMemory(reader.pid, limits.memoryBytes))
      )
      return yield* decodeAnswer(answer, limits.textBytesMax)
    })
  )

interface Reader {
  readonly pid: number
  /** Gives it some bytes; false when it wants no more. */
  readonly give: (bytes: Uint8Array) => Effect.Effect<boolean>
  readonly end: Effect.Effect<void>
  /** What it answered, once it has ended well. */
  readonly answer: Effect.Effect<Buffer, ExtractionFailed>
}

const startReader = Effect.fnUntraced(function* (
  program: ReaderProgram,
  limits: ReaderLimits,
  extension: string
) {
  const answered = yield* Deferred.make<Buffer, ExtractionFailed>()
  const closed = yield* Deferred.make<void>()
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawnReader(program, limits, extension, { answered, closed })),
    (running) =>
      Effect.suspend(() => {
        endGroup(running)
        // A process that was killed is waited for: its memory is free again when the next one starts.
        return Deferred.await(closed)
      })
  )
  return {
    pid: child.pid ?? 0,
    give: (bytes) =>
      Effect.callback((resume) => {
        child.stdin.write(bytes, (error) => resume(Effect.succeed(error == null)))
      }),
    end: Effect.sync(() => void child.stdin.end()),
    answer: Deferred.await(answered)
  } satisfies Reader
})

const spawnReader = (
  program: ReaderProgram,
  limits: ReaderLimits,
  extension: string,
  {
    answered,
    closed
  }: {
    readonly answered: Deferred.Deferred<Buffer, ExtractionFailed>
    readonly closed: Deferred.Deferred<void>
  }
) => {
  const { documentBytesMax, memoryBytes, pagesMax, seconds, textBytesMax } = limits
  const processLimits = { memoryBytes, cpuSeconds: seconds * cpuPerSecond }
  const { args, file } = commandOf(program, processLimits, [
    extension,
    ...[textBytesMax, documentBytesMax, pagesMax].map(String)
  ])
  // A process group of its own: the terminal's Ctrl-C is for the service, which ends its readers itself.
  const child = spawn(file, args, { cwd: "/", env: {}, stdio: ["pipe", "pipe", "pipe"], detached: true })
  const answer: Array<Buffer> = []
  let answerBytes = 0
  let wholeBytes: number | null = null
  let complaint = ""
  child.stdout.on("data", (bytes: Buffer) => {
    answerBytes += bytes.length
    if (answerBytes > answerBytesMax(textBytesMax)) return endGroup(child)
    answer.push(bytes)
    if (wholeBytes === null) wholeBytes = wholeAnswerBytes(Buffer.concat(answer))
    // The end of the process is not waited for: Node may hang there while V8's threads collect garbage.
    if (wholeBytes !== null && answerBytes >= wholeBytes) {
      Deferred.doneUnsafe(answered, Effect.succeed(Buffer.concat(answer)))
    }
  })
  child.stderr.setEncoding("latin1").on("data", (text: string) => {
    complaint = (complaint + text).slice(-complaintBytesMax)
  })
  // It may end before it has taken all of its bytes.
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
        : Effect.fail(complaint.includes("heap out of memory") ? tooLarge() : crashed())
    )
  })
  return child
}

/** Ends the process and what confines it, which are one group of processes. */
const endGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // All of them have ended already.
  }
}

/** Gives the process the file's bytes for as long as it wants any. */
const feed = (
  reader: Reader,
  bytes: Stream.Stream<Uint8Array, StorageFailed>
): Effect.Effect<void, StorageFailed> =>
  bytes.pipe(
    Stream.mapEffect(reader.give),
    Stream.takeWhile((wanted) => wanted),
    Stream.runDrain,
    Effect.andThen(reader.end)
  )

const tooLarge = () =>
  new ExtractionFailed({
    reason: "too_large",
    message: "The file could not be read: it needs more memory than is allowed."
  })

const orTooLong = (seconds: number) =>
  Effect.timeoutOrElse({
    duration: `${seconds} seconds`,
    orElse: () =>
      new ExtractionFailed({
        reason: "too_long",
        message: `The file could not be read within ${seconds} seconds.`
      })
  })

/** Fails when the process holds too much memory; it never succeeds. */
const watchMemory = Effect.fnUntraced(function* (pid: number, memoryBytes: number) {
  while (true) {
    const bytes = yield* residentBytes(pid)
    if (bytes !== null && bytes > memoryBytes) return yield* tooLarge()
    yield* Effect.sleep(memoryPollMillis)
  }
})
