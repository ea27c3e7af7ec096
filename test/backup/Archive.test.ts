import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { generateX25519Identity, identityToRecipient } from "age-encryption"
import { DateTime, Effect, Exit, Redacted, Result, Schema, Stream } from "effect"
import { fileMember, membersPerSums, tableMember } from "../../src/backup/ArchiveFormat.ts"
import { readArchive } from "../../src/backup/ArchiveReader.ts"
import { makeArchive } from "../../src/backup/ArchiveWriter.ts"
import type { BackupKeys } from "../../src/backup/Encryption.ts"
import { removeDirectory } from "../support/removeDirectory.ts"

const noKeys: BackupKeys = { passphrase: null, recipients: null, identity: null }

const header = {
  format: 1,
  createdAt: DateTime.makeUnsafe("2026-11-22T10:00:00Z"),
  version: "0.2.0",
  schema: 18,
  databaseId: null,
  postgres: "18.4",
  tables: [{ name: "users", columns: ["id"] }]
}

const noFiles = { count: 0, bytes: 0, missing: [], damaged: [] }

const scratch = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "parley-archive-"))),
  (directory) => Effect.sync(() => removeDirectory(directory))
)

type Members = ReadonlyArray<readonly [name: string, bytes: Buffer]>

/**
 * More members than one list of sums holds, one of them longer than any buffer on the way, and an empty one.
 */
const members: Members = [
  [tableMember("users", 1), randomBytes(3_000_000)],
  [tableMember("users", 2), Buffer.alloc(0)],
  ...Array.from(
    { length: membersPerSums + 5 },
    (_, n) =>
      [fileMember(`00000000-0000-7000-8000-${String(n).padStart(12, "0")}`), Buffer.from(`${n}`)] as const
  )
]

const few: Members = [[tableMember("users", 1), randomBytes(20_000)]]

const written = Effect.fnUntraced(function* (path: string, content: Members, keys: BackupKeys) {
  const archive = yield* makeArchive(path, header, keys)
  for (const [name, bytes] of content) yield* archive.add(name, bytes.length, Stream.make(bytes))
  return yield* archive.finish({ tables: [], sequences: [], files: noFiles })
}, Effect.scoped)

const read = Effect.fnUntraced(function* (path: string, keys: BackupKeys) {
  const found: Array<readonly [string, Buffer]> = []
  yield* readArchive(path, keys, ({ body, name }) =>
    Effect.map(Stream.runCollect(body), (pieces) => void found.push([name, Buffer.concat(pieces)]))
  )
  return found
})

const failureOf = (path: string, keys = noKeys) =>
  Effect.map(Effect.flip(read(path, keys)), ({ message }) => message)

describe("An archive", () => {
  it.effect("an archive returns every member as it was, and gets its name only once it is whole", () =>
    Effect.gen(function* () {
      const directory = yield* scratch
      const path = join(directory, "a.backup")
      const { bytes } = yield* written(path, members, noKeys)
      assert.deepStrictEqual(yield* read(path, noKeys), [...members])
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), ["a.backup"])
      assert.lengthOf(yield* Effect.promise(() => readFile(path)), bytes)
    })
  )

  it.effect("an archive is read with the identity of its recipient only", () =>
    Effect.gen(function* () {
      const path = join(yield* scratch, "a.backup")
      const [mine, other] = yield* Effect.promise(() =>
        Promise.all([generateX25519Identity(), generateX25519Identity()])
      )
      const recipients = [yield* Effect.promise(() => identityToRecipient(mine))]
      yield* written(path, few, { ...noKeys, recipients })
      const text = yield* Effect.promise(() => readFile(path, "latin1"))
      assert.isTrue(text.startsWith("age-encryption.org/v1\n"))
      assert.deepStrictEqual(yield* read(path, { ...noKeys, identity: Redacted.make(mine) }), [...few])
      assert.match(yield* failureOf(path), /is encrypted.*PARLEY_BACKUP_IDENTITY/)
      assert.match(
        yield* failureOf(path, { ...noKeys, identity: Redacted.make(other) }),
        /The identity of PARLEY_BACKUP_IDENTITY is not the one/
      )
    })
  )

  it.effect.prop(
    "a damaged archive is refused unless the damage changes nothing of what it holds",
    { place: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.999999 })), cut: Schema.Boolean },
    ({ cut, place }) =>
      Effect.gen(function* () {
        const path = join(yield* scratch, "a.backup")
        yield* written(path, few, noKeys)
        const bytes = yield* Effect.promise(() => readFile(path))
        const at = Math.floor(place * bytes.length)
        const altered = cut ? bytes.subarray(0, at) : Buffer.from(bytes)
        if (!cut) altered[at]! ^= 0x01
        yield* Effect.promise(() => writeFile(path, altered))
        const result = yield* Effect.result(read(path, noKeys))
        if (Result.isFailure(result))
          assert.match(result.failure.message, /is damaged|is not a backup of parley/)
        else assert.isTrue(result.success[0]?.[1].equals(few[0]![1]), `The byte ${at} of ${bytes.length}`)
      }).pipe(Effect.scoped)
  )

  it.effect.each([{ kind: "plain" }, { kind: "encrypted" }])(
    "an archive whose end is cut, extended, repeated or altered is refused: $kind",
    ({ kind }) =>
      Effect.gen(function* () {
        const path = join(yield* scratch, "a.backup")
        const mine = yield* Effect.promise(() => generateX25519Identity())
        const recipient = yield* Effect.promise(() => identityToRecipient(mine))
        yield* written(path, few, { ...noKeys, recipients: kind === "plain" ? null : [recipient] })
        const keys = { ...noKeys, identity: Redacted.make(mine) }
        const bytes = yield* Effect.promise(() => readFile(path))
        assert.deepStrictEqual(yield* read(path, keys), [...few])
        const altered = [-1, -5, -8].map((at) => {
          const copy = Buffer.from(bytes)
          copy[copy.length + at]! ^= 0x01
          return copy
        })
        const cut = Array.from({ length: 8 }, (_, n) => bytes.subarray(0, -1 - n))
        const longer = [Buffer.of(0), Buffer.of(7), Buffer.alloc(100_000, 7), bytes].map((more) =>
          Buffer.concat([bytes, more])
        )
        for (const other of [Buffer.alloc(0), ...cut, ...altered, ...longer]) {
          yield* Effect.promise(() => writeFile(path, other))
          const message = yield* failureOf(path, keys)
          assert.match(message, /is damaged|is not a backup of parley/, `${other.length - bytes.length}`)
        }
      })
  )

  it.effect("an archive with an altered byte below the compression is refused by its checksum", () =>
    Effect.gen(function* () {
      const path = join(yield* scratch, "a.backup")
      yield* written(path, few, noKeys)
      const tar = zstdDecompressSync(yield* Effect.promise(() => readFile(path)))
      tar[tar.indexOf(few[0]![1]) + 1_000]! ^= 0x01
      yield* Effect.promise(() => writeFile(path, zstdCompressSync(tar)))
      assert.match(yield* failureOf(path), /the sum of tables\/users\/000001 differs/)
      yield* Effect.promise(() => writeFile(path, zstdCompressSync(tar.subarray(0, 8_192))))
      assert.match(yield* failureOf(path), /is damaged or cut off/)
    })
  )

  it.effect("an archive replaces no file", () =>
    Effect.gen(function* () {
      const path = join(yield* scratch, "a.backup")
      yield* Effect.promise(() => writeFile(path, "precious"))
      const refused = yield* Effect.flip(written(path, few, noKeys))
      assert.match(refused.message, /exists already/)
      yield* Effect.promise(() => rm(path))
      // Another program takes the name while the archive is being written.
      const late = yield* Effect.scoped(
        Effect.gen(function* () {
          const archive = yield* makeArchive(path, header, noKeys)
          yield* Effect.promise(() => writeFile(path, "precious"))
          return yield* Effect.flip(archive.finish({ tables: [], sequences: [], files: noFiles }))
        })
      )
      assert.match(late.message, /exists already/)
      assert.strictEqual(yield* Effect.promise(() => readFile(path, "utf8")), "precious")
      assert.isFalse(existsSync(`${path}.partial`))
    })
  )

  it.effect("an archive leaves nothing behind when a member can't be read to its end", () =>
    Effect.gen(function* () {
      const directory = yield* scratch
      const exit = yield* Effect.exit(
        Effect.scoped(
          Effect.gen(function* () {
            const archive = yield* makeArchive(join(directory, "a.backup"), header, noKeys)
            const body = Stream.concat(Stream.make(randomBytes(9)), Stream.fail("the store is away"))
            yield* archive.add(fileMember("00000000-0000-7000-8000-000000000000"), 20, body)
          })
        )
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(directory)), [])
    })
  )

  it.effect("an archive fails, and does not hang, when nothing can be written any more", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(written("/dev/full/a.backup", few, noKeys))
      assert.match(error.message, /can't be written to \/dev\/full\/a.backup/)
    })
  )
})
