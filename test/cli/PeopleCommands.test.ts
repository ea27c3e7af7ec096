import { assert, layer } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { Accounts } from "../../src/auth/Accounts.ts"
import { Identities } from "../../src/auth/Identities.ts"
import { Links } from "../../src/auth/Links.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { AdminServer, clientWith, run } from "../admin/AdminServer.ts"
import type { Ran } from "../support/captured.ts"

const password = Redacted.make("a password of some words")
const client = { address: null, userAgent: null }

const succeeded = (ran: Ran): string => {
  assert.strictEqual(ran.stderr, "")
  assert.strictEqual(ran.code, 0)
  return ran.stdout
}

const refused = (ran: Ran, message: RegExp) => {
  assert.strictEqual(ran.code, 1)
  assert.match(ran.stderr, message)
}

/** The token in the one link that was printed, which begins with the address of the server. */
const tokenIn = Effect.fnUntraced(function* (printed: string) {
  const { url } = yield* AdminServer
  const [link, ...others] = printed.match(/http:\/\/\S+/g) ?? []
  assert.isEmpty(others)
  const { hash, host, pathname } = new URL(link!)
  assert.strictEqual(host, `localhost:${new URL(url).port}`)
  assert.strictEqual(pathname, "/link")
  return Redacted.make(hash.slice(1))
})

const Invitations = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ id: Schema.String, email: Schema.String }))
)

layer(AdminServer.layer, { excludeTestServices: true })("parley for people", (it) => {
  it.effect("parley invites users, lists their invitations and revokes them", () =>
    Effect.gen(function* () {
      const links = yield* Links
      succeeded(yield* run("org", "create", "Acme"))
      const invited = succeeded(
        yield* run("user", "invite", "ann@example.com", "--org", "Acme", "--role", "admin")
      )
      const token = yield* tokenIn(invited)
      assert.match(succeeded(yield* run("invitation", "list")), /^ann@example\.com +Acme +admin +20\d\d-/m)
      const { person } = yield* links.use({ token, password }, client)
      assert.strictEqual(person.role, "admin")
      assert.notInclude(succeeded(yield* run("invitation", "list")), "ann@example.com")

      const second = yield* tokenIn(
        succeeded(yield* run("user", "invite", "bea@example.com", "--org", "Acme"))
      )
      const [{ id } = { id: "" }] = Schema.decodeUnknownSync(Invitations)(
        succeeded(yield* run("invitation", "list", "--json"))
      )
      assert.match(
        succeeded(yield* run("invitation", "revoke", id)),
        /Revoked the invitation of bea@example\.com/
      )
      assert.strictEqual((yield* Effect.flip(links.open(second)))._tag, "LinkInvalid")
      refused(yield* run("invitation", "revoke", id), /link does not exist/)
      refused(yield* run("user", "invite", "ann@example.com", "--org", "Acme"), /exists already/)
    })
  )

  it.effect("parley changes roles, resets passwords and ends sessions", () =>
    Effect.gen(function* () {
      const links = yield* Links
      const sessions = yield* Sessions
      succeeded(yield* run("org", "create", "Roles"))
      succeeded(
        yield* run("user", "create", "eve@example.com", "--org", "Roles", "--role", "organization_admin")
      )
      const reset = yield* tokenIn(succeeded(yield* run("user", "reset-password", "eve@example.com")))
      const { secret } = yield* links.use({ token: reset, password }, client)
      assert.match(
        succeeded(yield* run("user", "list")),
        /^eve@example\.com +Roles +organization_admin +active +20\d\d-/m
      )
      assert.match(
        succeeded(yield* run("user", "end-sessions", "eve@example.com")),
        /^Ended 1 session of eve/
      )
      assert.isNull(yield* sessions.find(secret))
      assert.match(
        succeeded(yield* run("user", "role", "eve@example.com", "--role", "owner")),
        /eve@example\.com has the role owner/
      )
      refused(
        yield* run("user", "role", "eve@example.com", "--role", "member"),
        /only owner of the installation/
      )
      refused(yield* run("user", "disable", "eve@example.com"), /only owner of the installation/)
    })
  )

  it.effect("parley lists and unlinks accounts of identity providers", () =>
    Effect.gen(function* () {
      const identities = yield* Identities
      const email = "linked@example.com"
      const issuer = "https://login.example.com"
      succeeded(yield* run("org", "create", "Linked"))
      succeeded(yield* run("user", "create", email, "--org", "Linked"))
      const identity = { issuer, subject: "subject 1", email, groups: [] }
      yield* identities.signIn(identity, client)
      assert.match(
        succeeded(yield* run("user", "identities", email)),
        /^https:\/\/login\.example\.com +subject 1 +20\d\d-/m
      )
      const none = succeeded(yield* run("user", "unlink", email, "--issuer", "https://other.example.com"))
      assert.match(none, /^No such account is linked to linked@example\.com/)
      assert.match(
        succeeded(yield* run("user", "unlink", email, "--issuer", issuer)),
        /^Unlinked 1 account from linked@example\.com\. Sessions of the user have ended/
      )
      assert.deepStrictEqual(yield* identities.list(email), [])
      yield* identities.signIn(identity, client)
      assert.match(succeeded(yield* run("user", "unlink", email)), /^Unlinked 1 account/)
      refused(yield* run("user", "unlink", "x@example.com"), /does not exist/)
    })
  )

  it.effect("parley prints a link for the first administrator until one has signed in", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const links = yield* Links
      const sessions = yield* Sessions
      const { id } = yield* accounts.findUserByEmail("eve@example.com")
      refused(yield* run("setup-link"), /has been set up.*reset-password/)
      yield* accounts.createUser("first@example.com", "Roles", "owner")
      yield* accounts.setDisabled("eve@example.com", true)
      yield* accounts.setDisabled("ann@example.com", true)
      const token = yield* tokenIn(succeeded(yield* run("setup-link")))
      assert.deepInclude(yield* links.open(token), { kind: "set_up", email: "first@example.com" })
      assert.deepStrictEqual(yield* sessions.list(id), [])
    })
  )

  it.effect("no link, and no other secret, is in a list", () =>
    Effect.gen(function* () {
      const operator = yield* clientWith()
      succeeded(yield* run("org", "create", "Lists"))
      const created = yield* operator.people.invite({
        payload: { email: "list@example.com", organization: "Lists" }
      })
      const listed = yield* operator.people.listInvitations({ query: {} })
      assert.include(JSON.stringify(listed), created.id)
      assert.notInclude(JSON.stringify(listed), "parley_link_")
      const users = yield* operator.accounts.listUsers({ query: {} })
      assert.notInclude(JSON.stringify(users), "argon2id")
    })
  )
})
