import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { ApiKeyId, ResponseId, UserId } from "../../src/domain/Ids.ts"
import { makeReservationTable, type Reservation } from "../../src/usage/Reservations.ts"
import { makeTokenCounters, ownersOf } from "../../src/usage/TokenCounters.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { anotherUsage, asking, type Caller, expire, newResponse, spending } from "./asking.ts"
import { makeCaller, withKeyLimits } from "./callers.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
/** Which of the responses that are open, or which of the two processes. */
const index = between(0, 7)
const process = between(0, 1)
const asked = { process, most: between(1, 60), usual: between(1, 60), least: between(1, 8) }

const Step = Schema.Union([
  Schema.Struct({ do: Schema.Literal("reserve"), ...asked }),
  /** Another part for a response that is open, maybe on another day; it may need nothing at least. */
  Schema.Struct({ do: Schema.Literal("more"), index, ...asked, least: between(0, 8), hours: between(0, 20) }),
  /** More than was granted may be spent; what says so may come twice, and from the other process. */
  Schema.Struct({
    do: Schema.Literal("settle"),
    index,
    process,
    percent: between(0, 130),
    twice: Schema.Boolean
  }),
  /** A response that holds nothing, because there was no limit when it began. */
  Schema.Struct({ do: Schema.Literal("spend"), process, tokens: between(1, 9) }),
  /** Its process dies or sleeps, so that nobody renews. */
  Schema.Struct({ do: Schema.Literal("sleep"), index }),
  Schema.Struct({ do: Schema.Literal("lapse"), everybody: Schema.Boolean }),
  /** It wakes up, renews what is there yet, and holds again what isn't. */
  Schema.Struct({ do: Schema.Literal("wake"), index }),
  Schema.Struct({ do: Schema.Literal("beat") }),
  Schema.Struct({ do: Schema.Literal("clock"), hours: between(-60, 96) }),
  Schema.Struct({
    do: Schema.Literal("limits"),
    daily: Schema.NullOr(between(0, 150)),
    monthly: Schema.NullOr(between(0, 300)),
    ofKey: Schema.Struct({
      dailyTokens: Schema.NullOr(between(1, 150)),
      monthlyTokens: Schema.NullOr(between(1, 300))
    })
  })
])
type Step = typeof Step.Type

/**
 * Requests are many, so that reservations of different days are open side by side, also those of one
 * response.
 */
const [Reserve, More, Settle] = Step.members
const Steps = Schema.Array(Schema.Tuple([Reserve, Step, More, Reserve, Step, Settle, Step])).check(
  Schema.isMinLength(3),
  Schema.isMaxLength(8)
)

/** One window as it should be, told in the plainest way. */
class Window {
  first = ""
  used = 0
  reserved = 0
  roll(first: string) {
    if (first <= this.first) return
    this.first = first
    this.used = 0
    this.reserved = 0
  }
  add(first: string, used: number, reserved: number) {
    this.roll(first)
    if (first !== this.first) return
    this.used += used
    this.reserved += reserved
  }
}

interface Part extends Reservation {
  state: "held" | "expired" | "lapsed"
}

interface Open {
  readonly id: ResponseId
  readonly parts: Array<Part>
}

/** The windows of a user or of a key. */
class Account {
  readonly day = new Window()
  readonly month = new Window()
  daily: number | null = 100
  monthly: number | null = 250

  get left() {
    return Math.min(
      (this.daily ?? Number.POSITIVE_INFINITY) - this.day.used - this.day.reserved,
      (this.monthly ?? Number.POSITIVE_INFINITY) - this.month.used - this.month.reserved
    )
  }
}

/** The ledger as it should be, and what is asked of it. */
class Ledger {
  readonly user = new Account()
  /** The key, if it has limits of its own. */
  readonly key: Account | null
  readonly accounts: ReadonlyArray<Account>
  now = Date.parse("2024-02-29T00:00:00Z")
  /** The clock of the second process goes wrong by this. */
  readonly skewHours: number
  open: Array<Open> = []

  constructor(skewHours: number, isKeyLimited: boolean) {
    this.skewHours = skewHours
    this.key = isKeyLimited ? new Account() : null
    this.accounts = this.key === null ? [this.user] : [this.user, this.key]
  }

  get isUnlimited() {
    return this.key === null && this.user.daily === null && this.user.monthly === null
  }

  timeOf(which: number) {
    return this.now + which * this.skewHours * 3_600_000
  }

  windowsOf(which: number) {
    const day = new Date(this.timeOf(which)).toISOString().slice(0, 10)
    return { day, month: `${day.slice(0, 7)}-01` }
  }

  add(windows: { readonly day: string; readonly month: string }, used: number, reserved: number) {
    for (const { day, month } of this.accounts) {
      day.add(windows.day, used, reserved)
      month.add(windows.month, used, reserved)
    }
  }

  /** The number of tokens to grant, given those that are left. */
  grant(
    which: number,
    { least, most, usual }: { readonly most: number; readonly usual: number; readonly least: number }
  ) {
    const { day, month } = this.windowsOf(which)
    for (const account of this.accounts) {
      account.day.roll(day)
      account.month.roll(month)
    }
    const left = Math.min(...this.accounts.map((account) => account.left))
    return left <= 0 ? 0 : Math.min(most, Math.max(least, Math.min(left, usual)))
  }

  lapse() {
    for (const part of this.open.flatMap(({ parts }) => parts)) {
      if (part.state !== "expired") continue
      part.state = "lapsed"
      this.add(part, 0, -part.tokens)
    }
  }
}

const limitsOf = ({ daily, monthly }: Account) => ({ dailyTokens: daily, monthlyTokens: monthly })

const Sums = Schema.Struct({ day: Schema.Int, month: Schema.Int, expired: Schema.Int, parts: Schema.Int })

/** Runs the steps in the service and in the plain ledger side by side, and compares after each. */
const play = Effect.fnUntraced(function* (ledger: Ledger, steps: ReadonlyArray<Step>) {
  const sql = yield* SqlClient.SqlClient
  const counters = yield* makeTokenCounters
  const reservations = yield* makeReservationTable
  const someone = yield* makeCaller
  const caller: Caller = ledger.key === null ? someone : yield* withKeyLimits(someone, limitsOf(ledger.key))
  const processes = yield* Effect.forEach([0, 1], () => anotherUsage)
  const usageOf = (which: number) => processes[which]!
  const setLimits = Effect.suspend(() => {
    const { daily, monthly } = ledger.user
    // To both, so that none goes on by what it knew.
    const ofUser = Effect.forEach(processes, (usage) => usage.setLimits(caller.userId, { daily, monthly }))
    const ofKey =
      ledger.key === null ? Effect.void : Effect.asVoid(withKeyLimits(caller, limitsOf(ledger.key)))
    return Effect.andThen(ofUser, ofKey)
  })
  const settle = (which: number, id: ResponseId, tokens: number) =>
    usageOf(which).record(spending(caller, id, tokens))

  const reserve = Effect.fnUntraced(function* (
    which: number,
    response: Open,
    ask: { readonly most: number; readonly usual: number; readonly least: number }
  ) {
    const part = response.parts.length
    const { least, most, usual } = ask
    const granted = yield* usageOf(which)
      .reserve(asking(caller, most, { responseId: response.id, part, usual, least }))
      .pipe(
        Effect.map(({ tokens }) => tokens),
        Effect.catchTag("UsageLimitExceeded", () => Effect.succeed(0))
      )
    if (ledger.isUnlimited) {
      return assert.strictEqual(granted, Number.POSITIVE_INFINITY)
    }
    let expected = ledger.grant(which, ask)
    if (expected === 0 && ledger.accounts.some(({ day, month }) => day.reserved + month.reserved > 0)) {
      ledger.lapse()
      expected = ledger.grant(which, ask)
    }
    assert.strictEqual(granted, expected)
    if (granted === 0) return
    const { first: day } = ledger.user.day
    const { first: month } = ledger.user.month
    ledger.add({ day, month }, 0, granted)
    response.parts.push({
      responseId: response.id,
      part,
      ...ownersOf(caller),
      day,
      month,
      tokens: granted,
      state: "held"
    })
    if (!ledger.open.includes(response)) ledger.open.push(response)
  })

  const take = Effect.fnUntraced(function* (step: Step) {
    const one = "index" in step ? ledger.open[step.index % ledger.open.length] : undefined
    const which = "process" in step ? step.process : 0
    yield* TestClock.setTime(ledger.timeOf(which))
    switch (step.do) {
      case "reserve":
        return yield* reserve(which, { id: newResponse(), parts: [] }, step)
      case "more":
        ledger.now += step.hours * 3_600_000
        yield* TestClock.setTime(ledger.timeOf(which))
        if (one !== undefined) yield* reserve(which, one, step)
        return
      case "settle": {
        if (one === undefined) return
        const granted = one.parts.reduce((sum, { tokens }) => sum + tokens, 0)
        const used = Math.floor((granted * step.percent) / 100)
        yield* settle(which, one.id, used)
        if (step.twice) yield* settle(1 - which, one.id, used + 1)
        const held = one.parts.filter(({ state }) => state !== "lapsed")
        const least = (of: (part: Part) => string, none: string) => held.map(of).toSorted()[0] ?? none
        const { day, month } = ledger.windowsOf(which)
        ledger.add(
          { day: least((part) => part.day, day), month: least((part) => part.month, month) },
          used,
          0
        )
        for (const part of held) ledger.add(part, 0, -part.tokens)
        ledger.open = ledger.open.filter((other) => other !== one)
        return
      }
      case "spend":
        yield* settle(which, newResponse(), step.tokens)
        return ledger.add(ledger.windowsOf(which), step.tokens, 0)
      case "sleep":
        if (one === undefined) return
        yield* expire(one.id)
        for (const part of one.parts) if (part.state === "held") part.state = "expired"
        return
      case "lapse":
        yield* reservations.expire(step.everybody ? null : caller.userId, [])
        return ledger.lapse()
      case "wake": {
        if (one === undefined) return
        const lost = yield* reservations.renew(one.parts)
        assert.sameMembers(
          [...lost],
          one.parts.filter(({ state }) => state === "lapsed")
        )
        yield* reservations.restore(lost)
        // Once more is none too many: it holds nothing twice.
        yield* reservations.restore(lost)
        for (const part of one.parts) {
          if (part.state === "lapsed") ledger.add(part, 0, part.tokens)
          part.state = "held"
        }
        return
      }
      case "beat": {
        const awake = ledger.open.filter(({ parts }) => parts.some(({ state }) => state === "held"))
        const held = awake.flatMap(({ parts }) => parts.filter(({ state }) => state !== "lapsed"))
        assert.deepStrictEqual(yield* reservations.renew(held), [])
        for (const part of held) part.state = "held"
        return
      }
      case "clock":
        ledger.now += step.hours * 3_600_000
        return
      case "limits":
        Object.assign(ledger.user, { daily: step.daily, monthly: step.monthly })
        if (ledger.key !== null) {
          Object.assign(ledger.key, { daily: step.ofKey.dailyTokens, monthly: step.ofKey.monthlyTokens })
        }
        return yield* setLimits
    }
  })

  const compare = Effect.fnUntraced(function* (owner: UserId | ApiKeyId, account: Account) {
    const counted = yield* counters.read(owner)
    if (counted === undefined) return
    const { day, dayReserved, dayUsed, month, monthReserved, monthUsed } = counted
    const { day: ofDay, month: ofMonth } = account
    assert.deepStrictEqual({ first: day, used: dayUsed, reserved: dayReserved }, { ...ofDay })
    assert.deepStrictEqual({ first: month, used: monthUsed, reserved: monthReserved }, { ...ofMonth })
    // The counters' reserved tokens are the sum of the reservations, each part counted once.
    const [row] = yield* sql`
      SELECT coalesce(sum(tokens) FILTER (WHERE day = ${day}::date), 0)::int AS day,
        coalesce(sum(tokens) FILTER (WHERE month = ${month}::date), 0)::int AS month,
        count(*) FILTER (WHERE expires_at <= clock_timestamp())::int AS expired, count(*)::int AS parts
      FROM token_reservations WHERE ${owner}::uuid IN (user_id, key_id)`
    const parts = ledger.open.flatMap((one) => one.parts.filter(({ state }) => state !== "lapsed"))
    assert.deepStrictEqual(Schema.decodeUnknownSync(Sums)(row), {
      day: dayReserved,
      month: monthReserved,
      expired: parts.filter(({ state }) => state === "expired").length,
      parts: parts.length
    })
  })

  yield* setLimits
  for (const step of steps) {
    yield* take(step)
    yield* compare(caller.userId, ledger.user)
    if (ledger.key !== null) yield* compare(caller.keyId, ledger.key)
  }
})

layer(TestDatabase.layer)("the ledger", (it) => {
  it.effect.prop(
    "the ledger equals a plain one, whatever two processes with two clocks do to it",
    [Steps, between(-30, 30), Schema.Boolean],
    ([steps, skewHours, isKeyLimited]) =>
      Effect.scoped(play(new Ledger(skewHours, isKeyLimited), steps.flat())),
    { arbitrary: { runs: 60 } }
  )
})
