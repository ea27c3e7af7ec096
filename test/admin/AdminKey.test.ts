import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Array as Arr, Context, Effect, FileSystem, Layer, Logger, PlatformError, Redacted } from "effect"
import { AdminKey, adminKeyFileName, readAdminKey } from "../../src/admin/AdminKey.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"

/** Keeps everything that is logged. */
const logged: Array<string> = []
const Log = Logger.layer([Logger.make(({ message }) => void logged.push(JSON.stringify(message)))])

/** One start of a server with this data directory. */
const start = (dataDir: string, adminKey: Redacted.Redacted | null = null) =>
  Layer.build(
    Layer.fresh(AdminKey.layer).pipe(
      Layer.provide(Layer.succeed(AppConfig, testConfig({ dataDir, auth: { adminKey } })))
    )
  ).pipe(
    Effect.map((context) => Context.get(context, AdminKey)),
    Effect.scoped
  )

const directory = Effect.flatMap(FileSystem.FileSystem, (fs) =>
  fs.makeTempDirectoryScoped({ prefix: "parley-key-" })
)

layer(Layer.mergeAll(NodeServices.layer, NodeCrypto.layer, Log), { excludeTestServices: true })(
  "AdminKey",
  (it) => {
    it.effect("the admin key is created by the first start, readable by its owner only, and kept", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = `${yield* directory}/not/there/yet`
        const file = `${dataDir}/${adminKeyFileName}`
        const first = yield* start(dataDir)
        assert.strictEqual(first.file, file)
        assert.strictEqual((yield* fs.stat(file)).mode & 0o777, 0o600)
        const key = yield* readAdminKey(file)
        assert.match(Redacted.value(key), /^parley_admin_[0-9A-Za-z]{39}$/)
        for (const { matches } of [first, yield* start(dataDir)]) {
          assert.isTrue(yield* matches(key))
          assert.isFalse(yield* matches(Redacted.make(`${Redacted.value(key)} `)))
          assert.isFalse(yield* matches(Redacted.make("")))
        }
        assert.deepStrictEqual(yield* fs.readDirectory(dataDir), [adminKeyFileName])
        assert.notInclude(logged.join("\n"), Redacted.value(key).slice(13, 23))
      })
    )

    it.effect("the admin key gives every process the same sealing key, which is not the key itself", () =>
      Effect.gen(function* () {
        const key = Redacted.make("k".repeat(32))
        const [one, same, other] = yield* Effect.forEach([key, key, Redacted.make("o".repeat(32))], (given) =>
          Effect.flatMap(directory, (dataDir) => start(dataDir, given))
        )
        const bytesOf = (found: typeof one) => Redacted.value(found!.sealingKey)
        assert.strictEqual(bytesOf(one).length, 32)
        assert.deepStrictEqual(bytesOf(one), bytesOf(same))
        assert.notDeepEqual(bytesOf(one), bytesOf(other))
        assert.notDeepEqual(bytesOf(one), new TextEncoder().encode("k".repeat(32)))
      })
    )

    it.effect("the admin key is the same for several processes that start at once", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* directory
        const starts = yield* Effect.all(
          Arr.makeBy(10, () => start(dataDir)),
          { concurrency: "unbounded" }
        )
        const key = yield* readAdminKey(`${dataDir}/${adminKeyFileName}`)
        for (const { matches } of starts) assert.isTrue(yield* matches(key))
        assert.deepStrictEqual(yield* fs.readDirectory(dataDir), [adminKeyFileName])
      })
    )

    it.effect("the admin key is created on a file system without links", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* directory
        const link = () =>
          Effect.fail(
            PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method: "link" })
          )
        const without = Effect.provideService(start(dataDir), FileSystem.FileSystem, { ...fs, link })
        const { matches } = yield* without
        const file = `${dataDir}/${adminKeyFileName}`
        assert.isTrue(yield* matches(yield* readAdminKey(file)))
        assert.strictEqual((yield* fs.stat(file)).mode & 0o777, 0o600)
        assert.deepStrictEqual(yield* fs.readDirectory(dataDir), [adminKeyFileName])
      })
    )

    it.effect("the admin key is read from the settings where they give it, without creating a file", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* directory
        const given = Redacted.make("an operator's own key")
        const { file, matches } = yield* start(dataDir, given)
        assert.isNull(file)
        assert.isTrue(yield* matches(given))
        assert.deepStrictEqual(yield* fs.readDirectory(dataDir), [])
      })
    )

    it.effect("AdminKey makes the file unreadable for others, and logs that", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* directory
        const file = `${dataDir}/${adminKeyFileName}`
        yield* start(dataDir)
        yield* fs.chmod(file, 0o644)
        const before = logged.length
        yield* start(dataDir)
        assert.strictEqual((yield* fs.stat(file)).mode & 0o777, 0o600)
        assert.match(logged.slice(before).join("\n"), /admin\.key could be read by other users/)
      })
    )

    it.effect("AdminKey stops the start when its file holds no key or can't be created", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* directory
        const file = `${dataDir}/${adminKeyFileName}`
        for (const content of ["", "short", "x".repeat(181), "with a blank in its middle"]) {
          yield* fs.writeFileString(file, content)
          const error = yield* Effect.flip(start(dataDir))
          assert.match(error.message, /holds no admin key/)
          assert.strictEqual(yield* fs.readFileString(file), content)
        }
        const error = yield* Effect.flip(start(`${file}/below-a-file`))
        assert.strictEqual(error._tag, "AdminKeyUnusable")
        assert.match(error.message, /below-a-file/)
      })
    )
  }
)
