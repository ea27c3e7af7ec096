// oxlint-disable-next-line no-restricted-imports -- Effect reads no file synchronously (docs/decisions/speed.md)
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { Context, Effect, Layer, Option, Path, Schema } from "effect"
import { Digest } from "effect/crypto"
import { Hex } from "effect/encoding"
import { Mime } from "effect/http"
import { type Coding } from "./AcceptEncoding.ts"

/** The directory of the application's build: `dist/app`, which is beside the bundle of the service. */
export const AppDirectory = Context.Reference<URL>("parley/console/AppDirectory", {
  defaultValue: () => new URL(import.meta.url.endsWith(".ts") ? "../../dist/app/" : "app/", import.meta.url)
})

export interface Representation {
  readonly bytes: Uint8Array
  /**
   * Strong. Made when it is first asked for: most files of a build aren't, and a start would wait for all of
   * them.
   */
  readonly etag: Effect.Effect<string>
}

export interface AppFile {
  readonly contentType: string
  readonly representations: ReadonlyMap<Coding, Representation>
}

/** Bounds on all files together, with their compressed forms. */
const limits = { filesMax: 2_000, bytesMax: 33_554_432 }

interface FoundFile {
  /** "assets" or "". */
  readonly below: string
  readonly name: string
  readonly bytes: number
  readonly modifiedMillis: number
}

/**
 * Returns as many files as may be kept in memory, the newest first: every build writes all of its files anew,
 * and those of earlier builds may still lie beside them.
 */
export const newestWithin = <File extends Pick<FoundFile, "bytes" | "modifiedMillis">>(
  files: ReadonlyArray<File>,
  { bytesMax, filesMax }: typeof limits
): ReadonlyArray<File> => {
  const newest = files.toSorted((a, b) => b.modifiedMillis - a.modifiedMillis).slice(0, filesMax)
  let bytes = 0
  const full = newest.findIndex((file) => (bytes += file.bytes) > bytesMax)
  return full === -1 ? newest : newest.slice(0, full)
}

class AppUnreadable extends Schema.TaggedError<AppUnreadable>()("AppUnreadable", {
  reason: Schema.String
}) {}

/** Files that aren't read have such names, among them every name that a path would have to encode. */
const namePattern = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/

const suffixes: ReadonlyArray<readonly [suffix: string, coding: Coding]> = [
  [".br", "br"],
  [".gz", "gzip"]
]

const contentTypeOf = (name: string): string => {
  const type = Option.getOrElse(Mime.getType(name), () => "application/octet-stream")
  return type.startsWith("text/") ? `${type}; charset=utf-8` : type
}

export const represented = (digest: Digest.Digest["Service"], bytes: Uint8Array): Representation => {
  let known: string | null = null
  const make = Effect.map(digest.digest(Digest.sha256, bytes), (hash) => (known = `"${Hex.encode(hash)}"`))
  return { bytes, etag: Effect.suspend(() => (known === null ? make : Effect.succeed(known))) }
}

/** The compressed forms of a file are part of it, and no files of their own. */
const filesOf = (contents: ReadonlyMap<string, Representation>): ReadonlyMap<string, AppFile> => {
  const isForm = (name: string) =>
    suffixes.some(([suffix]) => name.endsWith(suffix) && contents.has(name.slice(0, -suffix.length)))
  const fileOf = (name: string, identity: Representation): AppFile => ({
    contentType: contentTypeOf(name),
    representations: new Map<Coding, Representation>([
      ["identity", identity],
      ...suffixes.flatMap(([suffix, coding]): ReadonlyArray<[Coding, Representation]> => {
        const compressed = contents.get(name + suffix)
        return compressed === undefined ? [] : [[coding, compressed]]
      })
    ])
  })
  return new Map(
    [...contents].filter(([name]) => !isForm(name)).map(([name, identity]) => [name, fileOf(name, identity)])
  )
}

/**
 * The files of the application's build, kept in memory from the start. A later build is served from the next
 * start on.
 */
export class AppFiles extends Context.Service<
  AppFiles,
  {
    /** The page that every path of the application answers; null if there is no build that can be served. */
    readonly page: string | null
    /** Finds a file by its name in `assets`. */
    readonly asset: (name: string) => AppFile | null
    /** Finds a file by its name beside the page. */
    readonly beside: (name: string) => AppFile | null
  }
>()("parley/console/AppFiles") {
  static readonly layer = Layer.effect(
    AppFiles,
    Effect.gen(function* () {
      const path = yield* Path.Path
      const digest = yield* Digest.Digest
      const directory = yield* path.fromFileUrl(yield* AppDirectory)

      // Nothing else runs at a start, and hundreds of small files take less time than in other threads.
      const reading = <A>(read: () => A) =>
        Effect.try({ try: read, catch: (cause) => new AppUnreadable({ reason: String(cause) }) })

      /** The regular files of a directory with their sizes; links aren't followed. */
      const list = (below: string): ReadonlyArray<FoundFile> => {
        const place = path.join(directory, below)
        const entries = readdirSync(place, { withFileTypes: true })
        return entries
          .filter((entry) => entry.isFile() && namePattern.test(entry.name))
          .map(({ name }) => {
            const { mtimeMs, size } = statSync(path.join(place, name))
            return { below, name, bytes: size, modifiedMillis: mtimeMs }
          })
      }

      const read = Effect.fnUntraced(function* () {
        const found = yield* reading(() => [...list(""), ...list("assets")])
        const kept = newestWithin(found, limits)
        const contentsOf = (below: string) =>
          reading(
            () =>
              new Map(
                kept
                  .filter((file) => file.below === below)
                  .map(({ name }) => [
                    name,
                    represented(digest, readFileSync(path.join(directory, below, name)))
                  ])
              )
          )
        const assets = filesOf(yield* contentsOf("assets"))
        const beside = filesOf(yield* contentsOf(""))
        const page = beside.get("index.html")?.representations.get("identity")
        if (page === undefined) return yield* new AppUnreadable({ reason: "index.html is missing" })
        yield* Effect.logDebug("The web application's files are kept in memory.").pipe(
          Effect.annotateLogs({
            files: kept.length,
            bytes: kept.reduce((sum, file) => sum + file.bytes, 0),
            leftOut: found.length - kept.length
          })
        )
        return { assets, beside, page: new TextDecoder().decode(page.bytes) }
      })

      const app = existsSync(directory)
        ? yield* Effect.catch(read(), (error) =>
            Effect.logWarning("The web application can't be served.").pipe(
              Effect.annotateLogs({
                directory,
                detail: error.reason
              }),
              Effect.as(null)
            )
          )
        : null
      return AppFiles.of({
        page: app?.page ?? null,
        asset: (name) => app?.assets.get(name) ?? null,
        beside: (name) => app?.beside.get(name) ?? null
      })
    })
  )
}
