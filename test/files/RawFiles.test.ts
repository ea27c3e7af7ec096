import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { removeDirectory } from "../support/removeDirectory.ts"

const program = fileURLToPath(new URL("../../scripts/bench/rawFiles.ts", import.meta.url))

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  return typeof address === "object" && address !== null ? address.port : assert.fail("no port")
}

/** The plain file server, for as long as the scope is open. */
const rawFiles = Effect.acquireRelease(
  Effect.promise(async () => {
    const directory = mkdtempSync(join(tmpdir(), "parley-raw-files-"))
    const port = await freePort()
    const child = spawn(process.execPath, [program, directory], {
      env: { PORT: String(port) },
      stdio: "ignore"
    })
    return { child, directory, url: `http://127.0.0.1:${port}` }
  }),
  ({ child, directory }) =>
    Effect.promise(async () => {
      const ended = once(child, "exit")
      child.kill("SIGKILL")
      await ended
      removeDirectory(directory)
    })
)

const untilReady = async (url: string): Promise<void> => {
  while (
    !(await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false
    ))
  ) {
    await new Promise(setImmediate)
  }
}

it.live("the file server of the benchmark answers an upload, gives back its bytes and removes them", () =>
  Effect.gen(function* () {
    const { directory, url } = yield* rawFiles
    yield* Effect.promise(async () => {
      await untilReady(url)
      const bytes = new Uint8Array(1_000_000).fill(7)
      const reply = await fetch(`${url}/v1/files`, { method: "POST", body: bytes })
      const id = /"id":"([0-9a-f-]{36})"/.exec(await reply.text())?.[1] ?? assert.fail("no id")
      // Under its own name and no longer under that of a draft.
      assert.deepStrictEqual(readdirSync(directory), [id])
      const content = await fetch(`${url}/v1/files/${id}/content`)
      assert.deepStrictEqual(new Uint8Array(await content.arrayBuffer()), bytes)
      assert.isTrue((await fetch(`${url}/v1/files/${id}`, { method: "DELETE" })).ok)
      assert.deepStrictEqual(readdirSync(directory), [])
    })
  }).pipe(Effect.scoped)
)
