import { assert, describe, it, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { fromBufferPromise } from "yauzl"
import { Accounts } from "../../src/auth/Accounts.ts"
import { Erasure } from "../../src/erasure/Erasure.ts"
import { type ArchiveEntry, UserExport, zipArchive } from "../../src/erasure/UserExport.ts"
import { added } from "../audit/fixtures.ts"
import { tagOf } from "../auth/AccountsFixture.ts"
import { content, conversationOf } from "../conversations/fixtures.ts"
import { upload } from "../files/fixtures.ts"
import { erasureLayer, someone, someTenant, textOf } from "./fixtures.ts"

const read = (archive: Stream.Stream<Uint8Array, Error>) =>
  Effect.flatMap(Stream.runCollect(archive), (chunks) =>
    Effect.promise(() => unzipped(Buffer.concat(chunks)))
  )

/** The texts of the files in an archive, by their names. */
const unzipped = async (bytes: Buffer): Promise<ReadonlyMap<string, string>> => {
  const zip = await fromBufferPromise(bytes)
  const files = new Map<string, string>()
  for await (const entry of zip.eachEntry()) {
    const stream = await zip.openReadStreamPromise(entry)
    files.set(entry.fileName, Buffer.concat(await stream.toArray()).toString())
  }
  return files
}

const linesOf = (files: ReadonlyMap<string, string>, name: string): ReadonlyArray<Record<string, unknown>> =>
  (files.get(name) ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

layer(Layer.provideMerge(UserExport.layer, erasureLayer), { excludeTestServices: true })(
  "An export",
  (it) => {
    it.effect("an export has everything of the user, nothing of others and no secret", () =>
      Effect.gen(function* () {
        const { file, key, organization, project, user } = yield* someTenant
        const other = yield* someone(organization.name)
        const long = yield* conversationOf(
          user.id,
          Array.from({ length: 120 }, (_, turn) => content(`question ${turn}`)),
          "Answer in rhymes."
        )
        const sql = yield* SqlClient.SqlClient
        yield* sql`UPDATE conversations SET title = 'Lighthouses', unanswered = '[{"input":"And now?"}]' WHERE id = ${long}`
        const odd = yield* upload(user.id, "odd", { filename: "../../odd name.plain" })
        const { entries, value } = yield* added((yield* UserExport).export(user.email.toUpperCase()))
        assert.deepStrictEqual(
          entries.map(({ action, targetName }) => ({ action, targetName })),
          [{ action: "user.export", targetName: user.email }]
        )
        const files = yield* read(value.archive)
        assert.sameMembers(
          [...files.keys()],
          [
            "account.json",
            "conversations.jsonl",
            "turns.jsonl",
            "responses-in-the-background.jsonl",
            "files.jsonl",
            "usage.jsonl",
            "audit/by-the-user.jsonl",
            "audit/about-the-user.jsonl",
            `files/${file.id}/lighthouse.plain`,
            `files/${odd.id}/.._.._odd name.plain`
          ]
        )
        const account = JSON.parse(files.get("account.json") ?? "")
        assert.deepInclude(account.user, { id: user.id, email: user.email, organization: organization.name })
        assert.deepInclude(account.keys[0], { id: key.id, name: key.name, hint: key.hint })
        assert.deepInclude(account.identities[0], { issuer: "https://login.example.com" })
        assert.deepInclude(account.sessions[0], { address: "192.0.2.1", user_agent: "test" })
        assert.deepInclude(account.projects[0], { id: project.id, name: project.name, role: "member" })
        assert.strictEqual(account.limits.daily.limit, 1_000_000)
        assert.strictEqual(files.get(`files/${file.id}/lighthouse.plain`), textOf(user))
        assert.deepInclude(linesOf(files, "conversations.jsonl").at(-1), {
          id: long,
          turns: 120,
          system_message: "Answer in rhymes.",
          title: "Lighthouses",
          hidden: true,
          unanswered: [{ input: "And now?" }]
        })
        const turns = linesOf(files, "turns.jsonl")
        assert.deepStrictEqual(
          turns.filter((turn) => turn["conversation_id"] === long).map((turn) => turn["position"]),
          Array.from({ length: 120 }, (_, position) => position)
        )
        assert.include(files.get("turns.jsonl"), "re: question 119")
        assert.deepStrictEqual(
          linesOf(files, "usage.jsonl").map((one) => one["input_tokens"]),
          [7]
        )
        assert.include(files.get("audit/about-the-user.jsonl"), '"action":"user.create"')
        const all = [...files.values()].join("\n")
        assert.notInclude(all, other.user.email)
        assert.notInclude(all, "hash")
        assert.notInclude(all, "storage_key")
      })
    )

    it.effect("an export has nothing of the user who had the address before", () =>
      Effect.gen(function* () {
        const { organization, user } = yield* someTenant
        yield* (yield* Erasure).deleteUser(user.email, "erase")
        const again = yield* (yield* Accounts).createUser(user.email, organization.name)
        const files = yield* read((yield* (yield* UserExport).export(user.email)).archive)
        assert.notInclude([...files.values()].join("\n"), user.id)
        assert.include(files.get("account.json"), again.id)
        assert.strictEqual(yield* tagOf((yield* UserExport).export("gone@example.com")), "UserNotFound")
      })
    )
  }
)

const modifiedAt = DateTime.makeUnsafe("2026-02-28T09:30:00Z")

const entry = <E>(name: string, bytes: Stream.Stream<Uint8Array, E>): ArchiveEntry<E, never> => ({
  name,
  modifiedAt,
  bytes
})

describe("A ZIP archive", () => {
  it.effect("a ZIP archive is read back with the same names and bytes, empty ones included", () =>
    Effect.gen(function* () {
      const encode = (text: string) => new TextEncoder().encode(text)
      const files = yield* read(
        zipArchive(
          Stream.make(
            entry("a/ä.txt", Stream.make(encode("one"), encode(" two"))),
            entry("empty", Stream.empty),
            entry("b", Stream.make(encode("")))
          )
        )
      )
      assert.deepStrictEqual(
        [...files],
        [
          ["a/ä.txt", "one two"],
          ["empty", ""],
          ["b", ""]
        ]
      )
      assert.strictEqual((yield* read(zipArchive(Stream.empty))).size, 0)
    })
  )

  it.effect("a ZIP archive reads no further ahead than some pieces", () =>
    Effect.gen(function* () {
      let made = 0
      const pieces = Stream.range(1, 500).pipe(
        Stream.rechunk(1),
        Stream.map(() => {
          made++
          return new Uint8Array(10_000)
        })
      )
      let bytes = 0
      yield* zipArchive(Stream.make(entry("large", pieces))).pipe(
        Stream.runForEach((chunk) =>
          Effect.sync(() => {
            bytes += chunk.length
            assert.isAtMost(made * 10_000 - bytes, 200_000)
          })
        )
      )
      assert.isAbove(bytes, 5_000_000)
    })
  )

  it.effect("a ZIP archive fails with a file that fails, and closes a file that is no longer read", () =>
    Effect.gen(function* () {
      const broken = new Error("the disk is gone")
      const failing = Stream.concat(Stream.make(new Uint8Array(3)), Stream.fail(broken))
      const failed = yield* Effect.flip(Stream.runDrain(zipArchive(Stream.make(entry("a", failing)))))
      assert.strictEqual(failed, broken)

      let closed = 0
      const endless = Stream.forever(Stream.make(new Uint8Array(1_000))).pipe(
        Stream.ensuring(
          Effect.sync(() => {
            closed++
          })
        )
      )
      yield* zipArchive(Stream.make(entry("endless", endless))).pipe(Stream.take(20), Stream.runDrain)
      assert.strictEqual(closed, 1)
    })
  )
})
