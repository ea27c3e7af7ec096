import { execFileSync } from "node:child_process"
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { Reactivity } from "effect/reactivity"
import { isRoot } from "../../src/postgres/PostgresHome.ts"
import { newestKnown } from "../../src/sql/Migrations.ts"
import { runWith } from "../admin/AdminServer.ts"
import { dataDirectory, query, start } from "../postgres/embeddedServer.ts"

/** Mode, owner, length and times of a directory and of everything in it. */
const snapshot = (directory: string): ReadonlyArray<string> =>
  ["", ...readdirSync(directory, { recursive: true, encoding: "utf8" })].toSorted().map((name) => {
    const { gid, mode, mtimeMs, size, uid } = statSync(join(directory, name))
    return [name, mode.toString(8), uid, gid, size, mtimeMs].join(" ")
  })

const ground = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer, Reactivity.layer)

layer(ground, { excludeTestServices: true })("A command that only looks at an embedded database", (it) => {
  it.effect(
    "a command that only looks at an embedded database changes nothing in the directory while no service runs",
    () =>
      Effect.gen(function* () {
        const dataDir = yield* dataDirectory
        yield* Effect.scoped(
          Effect.flatMap(start(dataDir), (address) => query(address, "CREATE TABLE public.mine (id int)"))
        )
        // Earlier versions ran the server as an account that other programs share.
        if (isRoot()) execFileSync("chown", ["-R", "65534:65534", join(dataDir, "postgres")])
        const before = snapshot(dataDir)
        const env = { PARLEY_DATA_DIR: dataDir, PORT: "1" }
        const planned = yield* runWith(env, ["migrate", "--dry-run"])
        assert.match(planned.stdout, new RegExp(` from schema 0 to ${newestKnown}:`), planned.stderr)
        assert.deepStrictEqual(snapshot(dataDir), before, "migrate --dry-run")
        for (const args of [["backup", "list"], ["config", "print"], ["version"], ["status"], ["doctor"]]) {
          yield* runWith(env, args)
          assert.deepStrictEqual(snapshot(dataDir), before, args.join(" "))
        }
      }),
    120_000
  )
})
