import { type ChildProcess, spawn, execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import type { Writable } from "node:stream"
import { Context, Deferred, Effect, Stream } from "effect"
import { ExtractionFailed, type StorageFailed } from "../domain/Errors.ts"
import { answerBytesMax, crashed, decodeAnswer, wholeAnswerBytes } from "./Answer.ts"
import { nodeCommand, type NodeProgram, nodeProgram } from "./NodeProgram.ts"
import type { PageOptions, Reading, ReadingLimits } from "./Reading.ts"

/** The program of the reader. `self` is the module that it lies beside. */
export const readerProgram = (self: string = import.meta.url): NodeProgram =>
  nodeProgram(self, "./child.ts", "./extract.js")

/** The program that reads documents. Tests take the bundle's, which takes a third of the time to start. */
export const CurrentReaderProgram = Context.Reference<NodeProgram>("parley/documents/ReaderProgram", {
  defaultValue: () => readerProgram()
})

/** A low priority leaves the rest of the machine responsive. */
const niceness = 10

/** The part of the memory for V8's heap; the program and its buffers need the rest. */
const heapPart = 0.75

/**
 * The command that runs the program. The kernel bounds its processor time, even if this process is killed; the launcher drops
 * its privileges, and Node denies it files, child processes, threads and code generation.
 */
export const commandOf = (
  program: NodeProgram,
  limits: { readonly memoryBytes: number; readonly cpuSeconds: number },
  args: ReadonlyArray<string>
) =>
  nodeCommand(program, {
    setup: `ulimit -t ${Math.ceil(limits.cpuSeconds)}; `,
    prefix: ["nice", "-n", String(niceness)],
    flags: [
      `--max-old-space-size=${Math.floor((limits.memoryBytes * heapPart) / 1_048_576)}`,
      "--disallow-code-generation-from-strings",
      "--disable-warning=ExperimentalWarning"
    ],
    args
  })

/** Limits on the reading of one document. */
export interface ReaderLimits extends ReadingLimits {
  /** For the process to take the bytes, and again for it to answer. */
  readonly seconds: number
  readonly memoryBytes: number
}

/** Processor seconds per second of the time limit: a process may use several processors. */
const cpuPerSecond = 4

/** The end of the standard error, where V8 reports a full heap. */
const errorBytesMax = 16 * 1024

/** A document for the reader process. */
export interface ReaderInput {
  readonly bytes: Stream.Stream<Uint8Array, StorageFailed>
  /** Of the file name, in lower case and without its dot. */
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
        Effect.raceFirst(watchMemory(child.pid ?? 0, limits.memoryBytes))
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
  const { documentBytesMax, memoryBytes, pagesMax, seconds, textBytesMax } = limits
  const { args, file } = commandOf(program, { memoryBytes, cpuSeconds: seconds * cpuPerSecond }, [
    extension,
    ...[textBytesMax, documentBytesMax, pagesMax].map(String),
    ...(page === undefined ? [] : [page.url, String(page.charactersMax)]),
    ...(page?.charset ? [page.charset] : [])
  ])
  // In its own process group: Ctrl-C goes to the service, which ends its readers.
  const child = spawn(file, args, { cwd: "/", env: {}, stdio: ["pipe", "pipe", "pipe"], detached: true })
  const answer: Array<Buffer> = []
  let answerBytes = 0
  let wholeBytes: number | null = null
  let errors = ""
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
  child.stderr.setEncoding("latin1").on("data", (text: string) => {
    errors = (errors + text).slice(-errorBytesMax)
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
        : Effect.fail(errors.includes("heap out of memory") ? tooLarge() : crashed())
    )
  })
  return child
}

/** Kills the process and its launcher, which are one process group. */
const endGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // It has ended already.
  }
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

/** Fails when the process uses too much memory; never succeeds. */
const watchMemory = Effect.fnUntraced(function* (pid: number, memoryBytes: number) {
  while (true) {
    const bytes = yield* residentBytes(pid)
    if (bytes !== null && bytes > memoryBytes) return yield* tooLarge()
    yield* Effect.sleep(memoryPollMillis)
  }
})

/** The interval of the memory checks; reading a file of /proc is cheap. */
const memoryPollMillis = process.platform === "linux" ? 25 : 250

/** The resident memory of a process and its children; null without such a process. V8's own limit doesn't count buffers. */
const residentBytes = (pid: number): Effect.Effect<number | null> =>
  process.platform === "linux" ? fromProc(pid) : fromPs(pid)

const bytesOf = (kibibytes: string | undefined): number | null =>
  kibibytes === undefined ? null : Number(kibibytes) * 1024

const fromProc = (pid: number): Effect.Effect<number | null> =>
  Effect.promise(async () => {
    const own = await statusBytes(pid)
    // The launcher waits for the reader, its child, and uses little memory itself.
    const children = await readText(`/proc/${pid}/task/${pid}/children`)
    const held = await Promise.all((children?.match(/\d+/g) ?? []).map(statusBytes))
    return own === null ? null : held.reduce<number>((sum, bytes) => sum + (bytes ?? 0), own)
  })

const statusBytes = async (pid: number | string): Promise<number | null> => {
  const status = await readText(`/proc/${pid}/status`)
  return status === null ? null : bytesOf(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1])
}

const readText = (path: string): Promise<string | null> => readFile(path, "latin1").catch(() => null)

const fromPs = (pid: number): Effect.Effect<number | null> =>
  Effect.callback((resume) => {
    execFile("/bin/ps", ["-o", "rss=", "-p", String(pid)], { env: {} }, (error, output) =>
      resume(Effect.succeed(error === null ? bytesOf(/\d+/.exec(output)?.[0]) : null))
    )
  })
