import { randomUUID } from "node:crypto"
import { createReadStream, createWriteStream, mkdirSync } from "node:fs"
import { rename, stat, unlink } from "node:fs/promises"
import * as http from "node:http"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"

/**
 * What uploads and downloads are measured against: the plainest file server. It writes a body as it comes, fsyncs it and
 * renames it, streams it back and removes it; no key, no multipart parser, no hash, no database.
 *
 *     node rawFiles.ts DIRECTORY
 */

const directory = process.argv[2] ?? "."
mkdirSync(directory, { recursive: true })

const upload = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
  const id = randomUUID()
  const draft = join(directory, `${id}.part`)
  await pipeline(request, createWriteStream(draft, { flags: "wx", flush: true }))
  await rename(draft, join(directory, id))
  response.setHeader("content-type", "application/json").end(JSON.stringify({ id }))
}

const download = async (id: string, response: http.ServerResponse): Promise<void> => {
  const path = join(directory, id)
  response.writeHead(200, { "content-length": (await stat(path)).size })
  await pipeline(createReadStream(path), response)
}

const remove = async (id: string, response: http.ServerResponse): Promise<void> => {
  await unlink(join(directory, id))
  response.end()
}

const server = http.createServer((request, response) => {
  const id = /^\/v1\/files\/([0-9a-f-]{36})(\/content)?$/.exec(request.url ?? "")?.[1]
  const change = request.method === "DELETE" ? remove : download
  const work =
    request.url === "/readyz"
      ? Promise.resolve(void response.end("ok"))
      : id === undefined
        ? upload(request, response)
        : change(id, response)
  work.catch(() => response.destroy())
})
server.listen(Number(process.env["PORT"]), "127.0.0.1")
process.on("SIGTERM", () => process.exit(0))
