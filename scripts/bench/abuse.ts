import * as http from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { abuseCases, type Belongings } from "./abuseCases.ts"
import { directive } from "./directive.ts"
import { parleyRecipe } from "./recipes.ts"
import { asProgram, program, type Rig, say, withRig } from "./rig.ts"
import { Server } from "./server.ts"

/**
 * Measures the wait of another organization's user while one user sends what is expensive to answer.
 *
 *     npm run bench -- abuse [--only A,B] [--seconds N] [--entry FILE] [--profile DIR]
 */

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    seconds: { type: "string", default: "12" },
    /** The program to measure, instead of building dist/main.js. */
    entry: { type: "string" },
    /** Writes a V8 processor profile of that program there. */
    profile: { type: "string" }
  }
})

const windowMs = Number(values.seconds) * 1000
/** The victim's p95 may be the larger of these: so many times its own alone, and so many milliseconds. */
const ratioMax = 2
const millisMax = 60
const pauseMs = 60
const settleMs = 1_500
const adminKey = "bench_admin_key_of_at_least_32_characters"
const itemsPerRequest = 20
const storedItems = 2_000
const uploadedFiles = 60
const requestTimeoutMs = 30_000

interface Reply {
  readonly status: number
  readonly text: string
}

const ask = (port: number, key: string, method: string, path: string, body?: unknown): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const form = body instanceof FormData
    if (form) {
      void fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        body,
        headers: { authorization: `Bearer ${key}` }
      })
        .then(async (response) => resolve({ status: response.status, text: await response.text() }))
        .catch(reject)
      return
    }
    const request = http.request(
      {
        host: "127.0.0.1",
        port,
        method,
        path,
        timeout: requestTimeoutMs,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }
      },
      (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (piece: string) => (text += piece))
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
      }
    )
    request.on("timeout", () => request.destroy(new Error("no answer")))
    request.on("error", reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })

const asked = async (...args: Parameters<typeof ask>): Promise<Record<string, unknown>> => {
  const { status, text } = await ask(...args)
  if (status >= 300) throw new Error(`${args[2]} ${args[3]}: ${status} ${text.slice(0, 300)}`)
  return JSON.parse(text) as Record<string, unknown>
}

const makeUser = async (port: number, name: string): Promise<string> => {
  await asked(port, adminKey, "POST", "/admin/organizations", { name })
  const email = `${name}@example.com`
  const user = await asked(port, adminKey, "POST", "/admin/users", {
    email,
    organization: name,
    with_key: true
  })
  return /parley_[A-Za-z0-9_]+/.exec(JSON.stringify(user))?.[0] ?? ""
}

const prepare = async (port: number, key: string): Promise<Belongings> => {
  const { id: conversation } = await asked(port, key, "POST", "/openai/v1/conversations", {})
  const items: Array<string> = []
  const batch = Array.from({ length: itemsPerRequest }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `Item ${index} of a conversation.`
  }))
  for (let count = 0; count < storedItems; count += itemsPerRequest) {
    const path = `/openai/v1/conversations/${String(conversation)}/items`
    const { data } = await asked(port, key, "POST", path, { items: batch })
    for (const { id } of data as ReadonlyArray<{ id: string }>) items.push(id)
  }
  const files: Array<string> = []
  const project = String((await asked(port, key, "POST", "/v1/projects", { name: "Papers" }))["id"])
  for (let count = 0; count < uploadedFiles; count++) {
    const form = new FormData()
    const text = Array.from({ length: 4_000 }, (_, index) => `word${(index * 7 + count) % 997}`).join(" ")
    form.set("file", new File([text], `file${count}.txt`, { type: "text/plain" }))
    files.push(String((await asked(port, key, "POST", "/v1/files", form))["id"]))
    await asked(port, key, "POST", `/v1/projects/${project}/files`, { file_id: files.at(-1) })
  }
  return { conversation: String(conversation), items, files, project }
}

interface Waits {
  readonly p95: number
  readonly max: number
  readonly failed: number
}

/** The victim: lists its files and asks for a short answer in turns. */
const watch = async (port: number, key: string, millis: number): Promise<Waits> => {
  const waits: Array<number> = []
  let failed = 0
  const end = performance.now() + millis
  for (let turn = 0; performance.now() < end; turn++) {
    const begun = performance.now()
    const reply =
      turn % 2 === 0
        ? ask(port, key, "GET", "/v1/files")
        : ask(port, key, "POST", "/v1/responses", { input: directive({ tokens: 5 }), stream: false })
    const status = await reply.then((one) => one.status).catch(() => 0)
    if (status !== 200) failed++
    waits.push(performance.now() - begun)
    await sleep(pauseMs)
  }
  const sorted = waits.toSorted((one, other) => one - other)
  return { p95: sorted[Math.floor(sorted.length * 0.95)] ?? 0, max: sorted.at(-1) ?? 0, failed }
}

const row = (cells: ReadonlyArray<string>): string =>
  cells.map((cell, index) => (index === 0 ? cell.padEnd(16) : cell.padStart(9))).join(" ")

const measure = async (rig: Rig): Promise<boolean> => {
  const { fleet } = rig
  const recipe = parleyRecipe(rig, values.profile)
  const {
    PARLEY_USER_REQUESTS_MAX: _,
    PARLEY_USER_REQUESTS_PER_MINUTE: __,
    ...environment
  } = recipe.environment
  const server = await new Server(fleet, {
    ...recipe,
    environment: { ...environment, PARLEY_ADMIN_KEY: adminKey, PARLEY_USER_REQUESTS_PER_MINUTE: "60000" }
  }).start()
  const { port } = server
  const victim = await makeUser(port, "victim")
  const abusive = await makeUser(port, "abuser")
  const has = await prepare(port, abusive)
  const abuser = fleet.start("abuser", [program("abuser.ts"), String(port), abusive], "all")
  await fleet.message(abuser)
  await watch(port, victim, settleMs)

  const only = values.only?.split(",")
  let isHeld = true
  say(row(["case", "alone", "beside", "ratio", "max", "failed", "MB", "", ""]))
  for (const { id } of abuseCases.filter((one) => only?.includes(one.id) ?? true)) {
    const before = await watch(port, victim, windowMs / 2)
    abuser.child.send({ run: id, has })
    const beside = await watch(port, victim, windowMs)
    const resident = server.residentKibibytes()
    const said = fleet.message<{ readonly answered: Readonly<Record<string, number>> }>(abuser)
    abuser.child.send({ run: null, has })
    const { answered } = await said
    await sleep(settleMs)
    const after = await watch(port, victim, windowMs / 2)
    const alone = Math.max(before.p95, after.p95)
    const holds = beside.failed === 0 && beside.p95 <= Math.max(ratioMax * alone, millisMax)
    isHeld &&= holds
    const figures = [alone, beside.p95].map((one) => one.toFixed(0))
    const ratio = (beside.p95 / alone).toFixed(1)
    const rest = [beside.max.toFixed(0), String(beside.failed), (resident / 1024).toFixed(0)]
    say(
      `${row([id, ...figures, ratio, ...rest, holds ? "ok" : "MISSED"])}  ${JSON.stringify(answered).slice(0, 90)}`
    )
  }
  return isHeld
}

await asProgram(() => withRig({ pins: false, ...values }, measure))
