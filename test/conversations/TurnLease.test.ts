import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../../src/conversations/Conversations.ts"
import type { ConversationId, UserId } from "../../src/domain/Ids.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import {
  addTurn,
  anotherProcess,
  content,
  conversationOf,
  conversationsWith,
  expireLease,
  someUser,
  storedTurns,
  unknownConversation
} from "./fixtures.ts"

/** Opens the turn in a scope of its own, so that the test says when it is given back. */
const openHere = Effect.fnUntraced(function* (
  conversations: Conversations["Service"],
  user: UserId,
  id: ConversationId
) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (closing) => Scope.close(closing, Exit.void))
  const turn = yield* conversations.open(user, id).pipe(Effect.provideService(Scope.Scope, scope))
  return { turn, close: Scope.close(scope, Exit.void) }
})

const leaseOf = Effect.fnUntraced(function* (id: ConversationId) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ leaseUntil: Date | null; leaseFence: number }>`
    SELECT lease_until, lease_fence FROM conversations WHERE id = ${id}::uuid`
  assert.isDefined(row)
  return row
})

const settings = { leaseSeconds: 30, turnWaitSeconds: 30 }
const shared = Layer.provideMerge(conversationsWith(settings), TestDatabase.layer)

layer(shared, { excludeTestServices: true })("The turn of a conversation", (it) => {
  it.effect("the turn of a conversation is given in the order of requests within a process", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const first = yield* openHere(conversations, user, id)
      const order: Array<number> = []
      const waiters: Array<Fiber.Fiber<unknown, unknown>> = []
      for (const n of [1, 2, 3, 4]) {
        const waiter = yield* Effect.scoped(
          Effect.gen(function* () {
            const turn = yield* conversations.open(user, id)
            order.push(n)
            yield* conversations.commit(turn, content(String(n)))
          })
        ).pipe(Effect.forkChild({ startImmediately: true }))
        waiters.push(waiter)
      }
      assert.deepStrictEqual(order, [])
      yield* first.close
      yield* Fiber.joinAll(waiters)
      assert.deepStrictEqual(order, [1, 2, 3, 4])
    })
  )

  it.effect("the turn of a conversation belongs to one holder at a time, across processes", () =>
    Effect.gen(function* () {
      const processes = [yield* anotherProcess(settings), yield* anotherProcess(settings)]
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      let inside = 0
      let most = 0
      const attempt = (conversations: Conversations["Service"]) =>
        Effect.scoped(
          Effect.gen(function* () {
            const turn = yield* conversations.open(user, id)
            most = Math.max(most, ++inside)
            yield* Effect.yieldNow
            // The commit gives the turn to the next one, before its answer is here.
            inside--
            yield* conversations.commit(turn, content("hello"))
          })
        )
      const attempts = Array.from({ length: 40 }, (_, n) =>
        attempt(processes[n % 2] as Conversations["Service"])
      )
      yield* Effect.all(attempts, { concurrency: "unbounded", discard: true })
      assert.strictEqual(most, 1)
      assert.deepStrictEqual(
        (yield* storedTurns(id)).map(({ position }) => position),
        Array.from({ length: 40 }, (_, n) => n)
      )
    })
  )

  it.effect("the turn of a conversation is refused at once to users without access", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const [user, other] = [yield* someUser, yield* someUser]
      const id = yield* conversationOf(user, [])
      yield* openHere(conversations, user, id)
      const process = yield* anotherProcess(settings)
      for (const attempt of [
        conversations.open(other, id),
        process.open(other, id),
        conversations.open(user, unknownConversation())
      ]) {
        assert.strictEqual((yield* Effect.flip(Effect.scoped(attempt)))._tag, "ConversationNotFound")
      }
    })
  )

  it.effect("the turn of a conversation is free again when its holder is interrupted", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const opened = yield* Deferred.make<void>()
      const holder = yield* Effect.scoped(
        Effect.gen(function* () {
          yield* conversations.open(user, id)
          yield* Deferred.succeed(opened, undefined)
          return yield* Effect.never
        })
      ).pipe(Effect.forkChild)
      yield* Deferred.await(opened)
      assert.isNotNull((yield* leaseOf(id)).leaseUntil)
      yield* Fiber.interrupt(holder)
      assert.isNull((yield* leaseOf(id)).leaseUntil)
      yield* addTurn(user, id, content("next"))
    })
  )

  it.effect("the turn of a conversation is not delayed by a waiter that has gone away", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const process = yield* anotherProcess(settings)
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const first = yield* openHere(conversations, user, id)
      const gone = yield* Effect.all(
        [conversations, process].map((each) => Effect.scoped(each.open(user, id))),
        {
          concurrency: "unbounded"
        }
      ).pipe(Effect.forkChild({ startImmediately: true }))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(gone)
      yield* first.close
      yield* addTurn(user, id, content("here"))
      const second = yield* openHere(process, user, id)
      assert.strictEqual(second.turn.turnCount, 1)
    })
  )

  it.effect("the turn of a new conversation is free only once its creator has released it", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const created = yield* Deferred.make<ConversationId>()
      const creator = yield* Effect.scoped(
        Effect.gen(function* () {
          const { turn } = yield* conversations.create(user)
          yield* Deferred.succeed(created, turn.conversationId)
          yield* Effect.yieldNow
          yield* conversations.commit(turn, content("one"))
        })
      ).pipe(Effect.forkChild)
      const id = yield* Deferred.await(created)
      const turn = yield* Effect.scoped(conversations.open(user, id))
      assert.strictEqual(turn.turnCount, 1)
      yield* Fiber.join(creator)
    })
  )

  it.effect("a turn whose lease another holder has taken can't be stored by the first", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const process = yield* anotherProcess(settings)
      const user = yield* someUser
      const id = yield* conversationOf(user, [content("zero")])
      const first = yield* openHere(conversations, user, id)
      yield* expireLease(id)
      const second = yield* openHere(process, user, id)
      assert.isAbove(second.turn.fence, first.turn.fence)
      const late = yield* Effect.flip(conversations.commit(first.turn, content("late")))
      assert.strictEqual(late._tag, "TurnLeaseLost")
      const stored = content("stored")
      yield* process.commit(second.turn, stored)
      const later = yield* Effect.flip(conversations.commit(first.turn, content("later")))
      assert.strictEqual(later._tag, "TurnLeaseLost")
      yield* first.close
      assert.deepStrictEqual((yield* storedTurns(id)).map(({ responseId }) => responseId).slice(1), [
        stored.responseId
      ])
    })
  )

  it.effect("a turn can be stored although its lease has expired, if nobody has taken it", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const { turn } = yield* openHere(conversations, user, id)
      yield* expireLease(id)
      yield* conversations.commit(turn, content("late, but alone"))
      assert.strictEqual((yield* storedTurns(id)).length, 1)
    })
  )

  it.effect("a turn is stored once, however often the same commit is requested", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const { turn } = yield* openHere(conversations, user, id)
      const once = content("once")
      yield* conversations.commit(turn, once)
      yield* conversations.commit(turn, once)
      assert.strictEqual((yield* storedTurns(id)).length, 1)
      const another = yield* Effect.flip(conversations.commit(turn, content("another")))
      assert.strictEqual(another._tag, "TurnLeaseLost")
    })
  )

  it.effect("a turn can't be stored after it was released", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const id = yield* conversationOf(user, [])
      const { close, turn } = yield* openHere(conversations, user, id)
      yield* close
      const late = yield* Effect.flip(conversations.commit(turn, content("late")))
      assert.strictEqual(late._tag, "TurnLeaseLost")
      assert.strictEqual((yield* Effect.flip(conversations.lost(turn)))._tag, "TurnLeaseLost")
    })
  )
})

layer(TestDatabase.layer, { excludeTestServices: true })("A wait for the turn", (it) => {
  it.effect(
    "a wait for the turn ends with ConversationBusy in any process, and leaves nothing behind it",
    () =>
      Effect.gen(function* () {
        const holder = yield* anotherProcess({ turnWaitSeconds: 0.2 })
        const other = yield* anotherProcess({ turnWaitSeconds: 0.2 })
        const user = yield* someUser
        const id = yield* conversationOf(user, []).pipe(Effect.provideService(Conversations, holder))
        const first = yield* openHere(holder, user, id)
        for (const conversations of [holder, other]) {
          const busy = yield* Effect.flip(Effect.scoped(conversations.open(user, id)))
          assert.strictEqual(busy._tag, "ConversationBusy")
        }
        yield* first.close
        for (const conversations of [holder, other]) yield* Effect.scoped(conversations.open(user, id))
      })
  )

  it.effect("a wait of no length still takes a turn that is free", () =>
    Effect.gen(function* () {
      const conversations = yield* anotherProcess({ turnWaitSeconds: 0 })
      const user = yield* someUser
      const id = yield* conversationOf(user, []).pipe(Effect.provideService(Conversations, conversations))
      yield* openHere(conversations, user, id)
      assert.strictEqual(
        (yield* Effect.flip(Effect.scoped(conversations.open(user, id))))._tag,
        "ConversationBusy"
      )
    })
  )
})
