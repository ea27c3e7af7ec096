import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type CallOptions, withoutFallback } from "../../src/domain/ModelCall.ts"
import {
  classify,
  ContentRefused,
  type Fault,
  KeyRejected,
  Misconfigured,
  RateLimited,
  RequestRejected,
  ServerFailed
} from "../../src/providers/Fault.ts"
import {
  aloneSeconds,
  failuresMax,
  failuresPerUserMax,
  openSecondsMax,
  openSecondsMin
} from "../../src/providers/ProviderCircuit.ts"
import type { ProviderGate } from "../../src/providers/ProviderGate.ts"
import { gate } from "./ServerSetup.ts"

const broken = new ServerFailed({ status: 500, detail: "HTTP 500" })

const of = (user: string): CallOptions => ({ ...withoutFallback, user })
const withFallback = (user: string): CallOptions => ({ hasFallback: () => true, user })

/** One request of a user that comes to this end; fails where the server isn't asked. */
const ask = (through: ProviderGate, options: CallOptions, end: Effect.Effect<string, Fault>) =>
  through.guard(options, end)

const fails = (fault: Fault = broken) => Effect.fail(fault)
const succeeds = Effect.succeed("answered")

/** True if a user's request reaches the server although another model could answer. */
const reaches = (through: ProviderGate, user: string) =>
  Effect.map(Effect.exit(ask(through, withFallback(user), succeeds)), Exit.isSuccess)

const stateOf = (through: ProviderGate) => Effect.map(through.health, ({ state }) => state)

/** Requests of different users fail in a row. */
const failSome = (through: ProviderGate, count: number) =>
  Effect.forEach(Array.from({ length: count }).keys(), (n) =>
    Effect.exit(ask(through, of(`user ${n}`), fails()))
  )

const open = (through: ProviderGate) => failSome(through, failuresMax)

describe("a failure of a model", () => {
  it("a failure of a model counts against it unless the next request may do better", () => {
    const isCounted = (fault: Fault) => classify(fault).countsAgainstModel
    assert.isTrue(isCounted(broken))
    assert.isTrue(isCounted(new KeyRejected({ status: 401, detail: "" })))
    assert.isTrue(isCounted(new Misconfigured({ status: 404, detail: "" })))
    assert.isFalse(isCounted(new RequestRejected({ status: 400, detail: "" })))
    assert.isFalse(isCounted(new KeyRejected({ status: 403, detail: "" })))
    assert.isFalse(isCounted(new RateLimited({ status: 429, detail: "" })))
  })
})

/** One request that waits for a permit at once. */
const enter = (through: ProviderGate, user = "") =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const fiber = yield* Effect.forkChild(Scope.provide(through.acquire(of(user)), scope), {
      startImmediately: true
    })
    return {
      user,
      fiber,
      isInside: () => fiber.pollUnsafe()?._tag === "Success",
      leave: Effect.andThen(Fiber.interrupt(fiber), Scope.close(scope, Exit.void))
    }
  })

/** The numbers of a provider's active requests and of those that wait. */
const load = (through: ProviderGate) =>
  Effect.map(through.health, ({ running, waiting }) => [running, waiting])

describe("the permits of a provider", () => {
  it.effect("a permit goes to the waiting users in turn", () =>
    Effect.gen(function* () {
      const through = yield* gate({ concurrentMax: 2 })
      const requests = yield* Effect.forEach(["ada", "ada", "ada", "bob", "eve", "ada"], (user) =>
        enter(through, user)
      )
      assert.deepStrictEqual(yield* load(through), [2, 4])
      // Bob gives up while he waits.
      yield* requests[3]?.leave ?? Effect.void
      const inside = () => requests.map(({ isInside }) => isInside())
      assert.deepStrictEqual(inside(), [true, true, false, false, false, false])
      yield* requests[0]?.leave ?? Effect.void
      yield* requests[1]?.leave ?? Effect.void
      assert.deepStrictEqual(inside(), [true, true, true, false, true, false])
      yield* Effect.forEach(requests, ({ leave }) => leave)
      assert.deepStrictEqual(yield* load(through), [0, 0])
    })
  )

  it.effect("a wait for a permit is bounded, and a request that gave up gets none", () =>
    Effect.gen(function* () {
      const through = yield* gate({ concurrentMax: 1, queueSeconds: 10 })
      const first = yield* enter(through)
      const second = yield* enter(through)
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(second.fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(Fiber.join(second.fiber)))._tag, "PermitTimeout")
      yield* first.leave
      assert.deepStrictEqual(yield* load(through), [0, 0])
    })
  )
})

const users = Schema.Literals(["alice", "bob", "eve"])

describe("the circuit of a provider", () => {
  it.effect("a circuit opens after failures of several users, and longer after each failed probe", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      yield* open(through)
      assert.strictEqual(yield* stateOf(through), "open")
      let prober = 0
      for (let seconds = openSecondsMin; seconds <= openSecondsMax * 2; seconds *= 2) {
        const wait = Math.min(seconds, openSecondsMax)
        assert.strictEqual((yield* through.health).openSeconds, wait)
        assert.isFalse(yield* reaches(through, "somebody"))
        yield* TestClock.adjust(`${wait} seconds`)
        yield* Effect.exit(ask(through, withFallback(`prober ${prober++}`), fails()))
      }
      yield* TestClock.adjust(`${openSecondsMax} seconds`)
      assert.isTrue(yield* reaches(through, "somebody"))
      assert.notStrictEqual(yield* stateOf(through), "open")
    })
  )

  it.effect("a circuit does not open at the failures of one user while another user sends requests", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      yield* ask(through, of("bob"), succeeds)
      for (let n = 0; n < 50; n++) yield* Effect.exit(ask(through, of("alice"), fails()))
      assert.isTrue(yield* reaches(through, "bob"))
      assert.isTrue(yield* reaches(through, "alice"))
      // Nobody else is there any more, so that it may well be the server.
      yield* TestClock.adjust(`${aloneSeconds} seconds`)
      for (let n = 0; n < failuresMax; n++) yield* Effect.exit(ask(through, of("alice"), fails()))
      assert.strictEqual(yield* stateOf(through), "open")
    })
  )

  it.effect.prop(
    "a circuit stays closed at the failures of one user while the requests of another succeed",
    {
      steps: Schema.Array(
        Schema.Struct({
          failures: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 })),
          other: users,
          seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: aloneSeconds - 1 }))
        })
      ).check(Schema.isMaxLength(20))
    },
    ({ steps }) =>
      Effect.gen(function* () {
        const through = yield* gate()
        yield* ask(through, of("bob"), succeeds)
        for (const { failures, other, seconds } of steps) {
          for (let n = 0; n < failures; n++) yield* Effect.exit(ask(through, withFallback("alice"), fails()))
          yield* TestClock.adjust(`${seconds} seconds`)
          for (let n = 0; n < failures; n++) yield* Effect.exit(ask(through, of("alice"), fails()))
          assert.isTrue(yield* reaches(through, other === "alice" ? "bob" : other))
        }
      })
  )

  it.effect("an open circuit lets requests without a fallback through", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      yield* open(through)
      assert.isFalse(yield* reaches(through, "bob"))
      assert.strictEqual(yield* ask(through, of("bob"), succeeds), "answered")
    })
  )

  it.effect("an open circuit is probed by one request at a time, and by another user first", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      yield* open(through)
      yield* TestClock.adjust(`${openSecondsMin} seconds`)
      yield* Effect.exit(ask(through, withFallback("alice"), fails()))
      yield* TestClock.adjust(`${openSecondsMin * 2} seconds`)
      assert.isFalse(yield* reaches(through, "alice"))
      const answer = yield* Deferred.make<string>()
      const probe = yield* Effect.forkChild(ask(through, withFallback("bob"), Deferred.await(answer)), {
        startImmediately: true
      })
      assert.isFalse(yield* reaches(through, "eve"))
      assert.strictEqual(yield* stateOf(through), "open")
      yield* Deferred.succeed(answer, "answered")
      yield* Fiber.join(probe)
      assert.isTrue(yield* reaches(through, "alice"))
    })
  )

  it.effect("an open circuit is probed by the next request after a probe was interrupted", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      yield* open(through)
      yield* TestClock.adjust(`${openSecondsMin} seconds`)
      const probe = yield* Effect.forkChild(ask(through, withFallback("bob"), Effect.never), {
        startImmediately: true
      })
      yield* Fiber.interrupt(probe)
      assert.isTrue(yield* reaches(through, "eve"))
      assert.notStrictEqual(yield* stateOf(through), "open")
    })
  )

  it.effect("a circuit stays closed while answers come between the failures", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      for (let round = 0; round < 5; round++) {
        for (const user of ["alice", "bob", "eve", "ada"]) yield* Effect.exit(ask(through, of(user), fails()))
        assert.isTrue(yield* reaches(through, "bob"))
      }
    })
  )

  it.effect("a circuit counts the ends of requests that began before anything had failed", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      const ends = yield* Effect.forEach([1, 2, 3], () => Deferred.make<string, Fault>())
      const [failing, answered, late] = yield* Effect.forEach(ends, (end, n) =>
        Effect.forkChild(Effect.exit(ask(through, of(`slow ${n}`), Deferred.await(end))), {
          startImmediately: true
        })
      )
      // The last of as many failures as open it, and of them an answer.
      yield* failSome(through, failuresMax - 1)
      yield* Deferred.succeed(ends[1]!, "answered")
      assert.deepStrictEqual(yield* Fiber.join(answered!), Exit.succeed("answered"))
      yield* failSome(through, failuresMax - 1)
      assert.isTrue(yield* Effect.map(stateOf(through), (state) => state !== "open"))
      yield* Deferred.fail(ends[0]!, broken)
      assert.deepStrictEqual(yield* Fiber.join(failing!), Exit.fail(broken))
      assert.strictEqual(yield* stateOf(through), "open")
      // While it is open, an answer to an earlier request is handed on, and doesn't close it.
      yield* Deferred.succeed(ends[2]!, "answered late")
      assert.deepStrictEqual(yield* Fiber.join(late!), Exit.succeed("answered late"))
      assert.strictEqual(yield* stateOf(through), "open")
      assert.isFalse(yield* reaches(through, "bob"))
      yield* TestClock.adjust(`${openSecondsMin} seconds`)
      assert.isTrue(yield* reaches(through, "bob"))
      assert.isTrue(yield* reaches(through, "alice"))
    })
  )

  it.effect("a circuit isn't changed by requests from before it opened", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      const ends = yield* Effect.forEach([1, 2, 3], () => Deferred.make<string, Fault>())
      const asked = yield* Effect.forEach(ends, (end, n) =>
        Effect.forkChild(Effect.exit(ask(through, of(`slow ${n}`), Deferred.await(end))), {
          startImmediately: true
        })
      )
      yield* open(through)
      yield* TestClock.adjust(`${openSecondsMin} seconds`)
      // It may be probed now: a late failure or a late answer is no probe.
      yield* Deferred.fail(ends[0]!, broken)
      yield* Deferred.succeed(ends[1]!, "late")
      yield* Fiber.join(asked[0]!)
      assert.deepStrictEqual(yield* Fiber.join(asked[1]!), Exit.succeed("late"))
      const probe = yield* Effect.forkChild(ask(through, withFallback("bob"), Effect.never), {
        startImmediately: true
      })
      assert.isFalse(yield* reaches(through, "alice"))
      yield* Fiber.interrupt(probe)
      assert.isTrue(yield* reaches(through, "alice"))
      assert.isTrue(yield* reaches(through, "bob"))
      yield* Deferred.fail(ends[2]!, broken)
      yield* Fiber.join(asked[2]!)
      yield* failSome(through, failuresMax - 1)
      assert.isTrue(yield* reaches(through, "alice"))
    })
  )

  it.effect("a circuit begins its count anew at each answer, also after a late one", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      const end = yield* Deferred.make<string, Fault>()
      yield* failSome(through, 1)
      const late = yield* Effect.forkChild(Effect.exit(ask(through, of("slow"), Deferred.await(end))), {
        startImmediately: true
      })
      yield* failSome(through, failuresMax - 1)
      yield* TestClock.adjust(`${openSecondsMin} seconds`)
      assert.isTrue(yield* reaches(through, "bob"))
      yield* failSome(through, failuresMax - 1)
      yield* Deferred.succeed(end, "late")
      yield* Fiber.join(late)
      assert.isTrue(yield* reaches(through, "bob"))
      yield* failSome(through, 1)
      assert.isTrue(yield* reaches(through, "alice"))
    })
  )

  it.effect("a circuit stays closed at faulty requests and at rate limits", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      for (const Refusal of [RequestRejected, ContentRefused, KeyRejected, RateLimited]) {
        for (const user of ["alice", "bob", "eve", "ada"]) {
          for (let n = 0; n < failuresPerUserMax; n++)
            yield* Effect.exit(ask(through, of(user), fails(new Refusal({ detail: "" }))))
        }
      }
      assert.isTrue(yield* reaches(through, "bob"))
    })
  )
})

describe("the health of a provider", () => {
  it.effect("the health of a provider has the last failure, for ten minutes or until an answer", () =>
    Effect.gen(function* () {
      const through = yield* gate()
      through.failed(broken, 0)
      const failing = { state: "failing", failure: "server_error (HTTP 500)", openSeconds: null } as const
      assert.deepInclude(yield* through.health, failing)
      yield* TestClock.adjust("10 minutes")
      assert.deepInclude(yield* through.health, { state: "unknown", failure: null })
      through.failed(new RequestRejected({ status: 400, detail: "" }), 600)
      assert.deepInclude(yield* through.health, { state: "unknown", failure: null })
      through.failed(broken, 600)
      through.answered("bob", 600)
      assert.deepInclude(yield* through.health, { state: "ok", failure: null })
    })
  )
})
