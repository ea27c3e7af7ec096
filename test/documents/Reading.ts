import { execFile } from "node:child_process"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { Effect, Stream } from "effect"
import type { NodeProgram } from "../../src/confinement/NodeProgram.ts"
import { type DocumentBytes, readDocument } from "../../src/documents/DocumentReader.ts"
import { readInProcess, type ReaderLimits, readerProgram } from "../../src/documents/ReaderProcess.ts"
import { type ReadingLimits, Unreadable } from "../../src/documents/Reading.ts"
import { bundle } from "../support/ServiceProcess.ts"

const mebibyte = 1024 * 1024

export const limits: ReaderLimits = {
  seconds: 60,
  memoryBytes: 512 * mebibyte,
  textBytesMax: 10 * mebibyte,
  documentBytesMax: 128 * mebibyte,
  pagesMax: 10_000
}

/** The program of the service as it is delivered. */
export const bundledProgram = readerProgram(pathToFileURL(bundle).href)

const hostileEntry = fileURLToPath(new URL("hostileReader.ts", import.meta.url))

export const hostileProgram = (): NodeProgram => ({
  ...readerProgram(),
  entry: hostileEntry,
  readable: [hostileEntry, ...readerProgram().readable]
})

/** The processes that have this word in their command line. */
export const commandsWith = (word: string) =>
  Effect.promise(async () => {
    const { stdout } = await promisify(execFile)("ps", ["-axww", "-o", "pid=,ppid=,args="])
    return stdout.split("\n").flatMap((line) => {
      const [, pid, parent, command] = /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? []
      return command?.includes(word) === true ? [{ pid: Number(pid), parent: Number(parent), command }] : []
    })
  })

/** Their pids. */
export const processesWith = (word: string) =>
  Effect.map(commandsWith(word), (found) => found.map(({ pid }) => pid))

/** Reads these bytes as the service does, in a process of their own. */
export const readThere = (bytes: Uint8Array | string, extension = "", more: Partial<ReaderLimits> = {}) =>
  readInProcess(bundledProgram, { ...limits, ...more }, { bytes: Stream.make(Buffer.from(bytes)), extension })

const sourceOf = (bytes: Buffer): DocumentBytes => ({
  head: (bytesMax) => Promise.resolve(bytes.subarray(0, bytesMax)),
  upTo: (bytesMax) =>
    Promise.resolve({ bytes: bytes.subarray(0, bytesMax), isWhole: bytes.length <= bytesMax })
})

/**
 * Reads these bytes as such a process does, but in this one. What isn't a refusal with a name is a defect.
 */
export const readHere = (bytes: Uint8Array | string, extension = "", more: Partial<ReadingLimits> = {}) =>
  Effect.tryPromise({
    try: () => readDocument(sourceOf(Buffer.from(bytes)), extension, { ...limits, ...more }),
    catch: (error) => {
      if (error instanceof Unreadable) return error
      throw error
    }
  })

/** Why these bytes can't be read. */
export const failureOf = (bytes: Uint8Array | string, extension = "", more: Partial<ReadingLimits> = {}) =>
  Effect.map(Effect.flip(readHere(bytes, extension, more)), ({ reason }) => reason)
