import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Audit } from "../../src/audit/Audit.ts"
import { type Actor, CurrentActor } from "../../src/domain/Actor.ts"
import { OrganizationId, SessionId, UserId } from "../../src/domain/Ids.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { countsOf, filesWith, someUser, upload } from "./fixtures.ts"

/** An upload or a deletion sends no more statements than this. */
const statementsMax = 14

const operator: Actor = { _tag: "Operator", origin: "api", address: null, key: null }

const person: Actor = {
  _tag: "Person",
  userId: UserId.make(randomUUID()),
  email: "admin@example.com",
  role: "admin",
  organizationId: OrganizationId.make(randomUUID()),
  organization: "the installation's",
  sessionId: SessionId.make(randomUUID()),
  address: "192.0.2.1"
}

/** The entries of the audit log about a user's files, oldest first. */
const recordedOf = Effect.fnUntraced(function* (user: UserId) {
  const { data } = yield* (yield* Audit).list({ targetType: "file" })
  return data.filter(({ details }) => details["owner"] === user).toReversed()
})

const services = Layer.merge(filesWith({ processWaitSeconds: 0 }), Audit.layer).pipe(
  Layer.provideMerge(TestDatabase.layerFailing)
)

layer(services, { excludeTestServices: true })("The files of a user", (it) => {
  it.effect(
    "the audit log has what administrators do with the files of a user, and nothing of the user's own",
    () =>
      Effect.gen(function* () {
        const store = yield* FileStore
        const user = yield* someUser
        const own = yield* upload(user, "own", { filename: "own.md" })
        yield* store.delete(user, own.id)
        assert.deepStrictEqual(yield* recordedOf(user), [])

        const { id } = yield* Effect.provideService(
          upload(user, "confidential", { filename: "given.md" }),
          CurrentActor,
          operator
        )
        yield* Effect.provideService(store.delete(user, id), CurrentActor, person)
        const refused = yield* Effect.exit(
          Effect.provideService(store.delete(user, id), CurrentActor, person)
        )
        assert.strictEqual(refused._tag, "Failure")
        const [uploaded, deleted, ...others] = yield* recordedOf(user)
        assert.deepStrictEqual(others, [])
        const target = { targetId: id, targetName: "given.md" }
        assert.deepInclude(uploaded, { action: "file.upload", actor: "operator", ...target })
        assert.deepInclude(deleted, { action: "file.delete", actorEmail: "admin@example.com", ...target })
        assert.isNotNull(uploaded?.organizationId)
        assert.notInclude(JSON.stringify([uploaded, deleted]), "confidential")
      })
  )

  it.effect(
    "the audit log has one entry for each change of files that is kept when the n-th statement fails",
    () =>
      Effect.gen(function* () {
        const store = yield* FileStore
        const faults = yield* SqlFaults
        for (const when of ["before", "after"] as const) {
          const user = yield* someUser
          for (let n = 1; n <= statementsMax; n++) {
            yield* faults.failStatement(n, when)
            yield* Effect.exit(
              Effect.provideService(upload(user, "text", { filename: `${n}.plain` }), CurrentActor, operator)
            )
            yield* faults.off
            const { rows } = yield* countsOf(user)
            assert.strictEqual((yield* recordedOf(user)).length, rows, `upload, statement ${n}, ${when}`)
          }
          const uploaded = (yield* countsOf(user)).rows
          assert.isAbove(uploaded, 5)
          for (let n = 1; n <= 6; n++) {
            const { files } = yield* store.list(user, { limit: 1, order: "asc" })
            yield* faults.failStatement(n, when)
            yield* Effect.exit(
              Effect.provideService(store.delete(user, files[0]!.id), CurrentActor, operator)
            )
            yield* faults.off
            const { rows } = yield* countsOf(user)
            const entries = (yield* recordedOf(user)).length
            assert.strictEqual(entries, uploaded + (uploaded - rows), `deletion, statement ${n}, ${when}`)
          }
        }
      }),
    120_000
  )
})
