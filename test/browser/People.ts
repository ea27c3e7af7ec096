import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { BrowserContextOptions } from "playwright-core"
import type { Role } from "../../src/domain/Account.ts"
import { call } from "../support/Wire.ts"
import { ServedApp } from "./ServedApp.ts"

export const password = "a few words in a row"

/** Someone who is signed in outside of a browser, to prepare what a page shows. */
export interface Person {
  readonly email: string
  /** Opens pages in the same session, as `storageState` of a visit. */
  readonly storageState: Exclude<BrowserContextOptions["storageState"], string | undefined>
  /** Asks the interface of the web application, such as `/me/keys`, and gives what it answered. */
  readonly ask: (path: string, body?: unknown) => Effect.Effect<Answer, never, ServedApp>
}

/** The fields of a body, of which each test knows those that it reads. */
// oxlint-disable-next-line typescript/no-explicit-any
type Answer = Record<string, any>

const send = Effect.fnUntraced(function* (path: string, body: unknown, headers: Record<string, string>) {
  const { url } = yield* ServedApp
  const reply = yield* call(`${url}/console${path}`, { headers: { ...headers, origin: url }, body })
  assert.strictEqual(reply.status, 200, `${path}: ${reply.text}`)
  return { ...reply, json: JSON.parse(reply.text) as Answer }
})

/** Signs in by a password or a link. */
const enter = Effect.fnUntraced(function* (
  path: string,
  body: unknown
): Effect.fn.Return<Person, never, ServedApp> {
  const { url } = yield* ServedApp
  const { headers, json } = yield* send(path, body, {})
  const [, name = "", value = ""] = /^([^=]+)=([^;]+)/.exec(headers.get("set-cookie") ?? "") ?? []
  const cookie = {
    name,
    value,
    domain: new URL(url).hostname,
    path: "/",
    expires: -1,
    httpOnly: true,
    secure: false,
    sameSite: "Lax" as const
  }
  const session = { cookie: `${name}=${value}`, "x-csrf-token": String(json["csrf_token"]) }
  return {
    email: json["user"].email,
    storageState: { cookies: [cookie], origins: [] },
    ask: (path, body) => Effect.map(send(path, body, session), ({ json }) => json)
  }
})

/** The link that the start printed for the first administrator. */
export const setUpLink = Effect.map(ServedApp, ({ output }) => {
  const link = /\S+\/link#\S+/.exec(output().out)?.[0]
  if (link === undefined) throw new Error(`The start printed no set-up link.\n${output().out}`)
  return new URL(link)
})

export const signIn = (email: string) => enter("/session", { email, password })

const ownerEmail = "owner@example.com"

/** The owner, who is set up by the first test of a service that needs one. */
export const owner = Effect.gen(function* () {
  const { json } = yield* send("/session", undefined, {})
  if (json["set_up_needed"] !== true) return yield* signIn(ownerEmail)
  const { hash } = yield* setUpLink
  return yield* enter("/link/use", { token: hash.slice(1), email: ownerEmail, password })
})

export interface Invited {
  readonly email: string
  readonly organization: string
  readonly role: Role
}

/** Invites a user of an organization, which is created if need be, and accepts. */
export const join = Effect.fnUntraced(function* (by: Person, user: Invited) {
  const { data } = yield* by.ask("/admin/organizations")
  const isThere = (one: { readonly name: string }) => one.name === user.organization
  if (!data.some(isThere)) yield* by.ask("/admin/organizations", { name: user.organization })
  const { url } = yield* by.ask("/admin/invitations", user)
  return yield* enter("/link/use", { token: new URL(url).hash.slice(1), password })
})
