import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { currentDatetime } from "../../src/tools/CurrentDatetime.ts"

const Answer = Schema.fromJsonString(
  Schema.Struct({
    datetime: Schema.String,
    weekday: Schema.String,
    timezone: Schema.String,
    unix_seconds: Schema.Int
  })
)

const answerAt = Effect.fnUntraced(function* (now: string, args: unknown) {
  yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe(now)))
  const { text } = yield* currentDatetime.run(args)
  return yield* Schema.decodeEffect(Answer)(text)
})

describe("currentDatetime", () => {
  it.effect("currentDatetime returns one line of JSON, to the second", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-21T14:15:16.999Z")))
      assert.deepStrictEqual(yield* currentDatetime.run({ timezone: "Asia/Tokyo" }), {
        text: '{"datetime":"2026-11-21T23:15:16+09:00","weekday":"Saturday","timezone":"Asia/Tokyo","unix_seconds":1795270516}'
      })
    })
  )

  it.effect("currentDatetime uses UTC when no zone is named", () =>
    Effect.gen(function* () {
      for (const args of [{}, { timezone: "" }, { timezone: " " }, { timezone: null }, { timezone: "utc" }]) {
        assert.deepStrictEqual(yield* answerAt("2024-02-29T23:59:59Z", args), {
          datetime: "2024-02-29T23:59:59+00:00",
          weekday: "Thursday",
          timezone: "UTC",
          unix_seconds: 1709251199
        })
      }
    })
  )

  const places: ReadonlyArray<
    readonly [what: string, now: string, zone: string, datetime: string, weekday: string]
  > = [
    ["before summer time", "2026-03-29T00:59:59Z", "Europe/Berlin", "2026-03-29T01:59:59+01:00", "Sunday"],
    ["in summer time", "2026-03-29T01:00:00Z", "Europe/Berlin", "2026-03-29T03:00:00+02:00", "Sunday"],
    [
      "an hour for the first time",
      "2026-11-01T05:30:00Z",
      "America/New_York",
      "2026-11-01T01:30:00-04:00",
      "Sunday"
    ],
    [
      "an hour for the second time",
      "2026-11-01T06:30:00Z",
      "America/New_York",
      "2026-11-01T01:30:00-05:00",
      "Sunday"
    ],
    [
      "half an hour of summer time",
      "2026-01-01T00:00:00Z",
      "Australia/Lord_Howe",
      "2026-01-01T11:00:00+11:00",
      "Thursday"
    ],
    [
      "no summer time in the south",
      "2026-07-01T00:00:00Z",
      "Australia/Lord_Howe",
      "2026-07-01T10:30:00+10:30",
      "Wednesday"
    ],
    [
      "a zone with half an hour",
      "2026-11-21T18:29:59Z",
      "Asia/Kolkata",
      "2026-11-21T23:59:59+05:30",
      "Saturday"
    ],
    ["the next day", "2026-11-21T18:30:00Z", "Asia/Kolkata", "2026-11-22T00:00:00+05:30", "Sunday"],
    [
      "a zone with three quarters",
      "2026-12-31T18:15:00Z",
      "Asia/Kathmandu",
      "2027-01-01T00:00:00+05:45",
      "Friday"
    ],
    [
      "half an hour in the west",
      "2026-01-01T00:00:00Z",
      "America/St_Johns",
      "2025-12-31T20:30:00-03:30",
      "Wednesday"
    ],
    ["the far east", "2026-01-01T10:00:00Z", "Pacific/Kiritimati", "2026-01-02T00:00:00+14:00", "Friday"]
  ]
  for (const [what, now, timezone, datetime, weekday] of places) {
    it.effect(`currentDatetime knows ${what}: ${timezone}`, () =>
      Effect.gen(function* () {
        const answer = yield* answerAt(now, { timezone })
        assert.deepStrictEqual(answer, {
          datetime,
          weekday,
          timezone,
          unix_seconds: DateTime.toEpochMillis(DateTime.makeUnsafe(now)) / 1000
        })
      })
    )
  }

  it.effect("currentDatetime finds zones in any case, and returns their usual spelling", () =>
    Effect.gen(function* () {
      const names = {
        "asia/tokyo": "Asia/Tokyo",
        "AMERICA/NEW_YORK": "America/New_York",
        " America/New York ": "America/New_York",
        "asia/kolkata": "Asia/Kolkata",
        "us/pacific": "US/Pacific",
        est5edt: "EST5EDT",
        "etc/gmt+5": "Etc/GMT+5"
      }
      for (const [asked, timezone] of Object.entries(names)) {
        const answer = yield* answerAt("2026-01-01T00:00:00Z", { timezone: asked })
        assert.strictEqual(answer.timezone, timezone)
      }
    })
  )

  it.effect("currentDatetime fails for an unknown zone, and suggests the likely one", () =>
    Effect.gen(function* () {
      const messageFor = (timezone: unknown) =>
        Effect.map(Effect.flip(currentDatetime.run({ timezone })), ({ message }) => message)
      assert.strictEqual(
        yield* messageFor("Mars/Base"),
        'There is no time zone "Mars/Base". Name a zone of the IANA database, such as Asia/Tokyo, or leave it out for UTC.'
      )
      assert.include(yield* messageFor("new york"), "such as America/New_York")
      assert.include(yield* messageFor("Germany/Berlin"), "such as Europe/Berlin")
      for (const timezone of ["+05:30", "UTC+2", "constructor", "\ud800", "a".repeat(10_000)]) {
        const message = yield* messageFor(timezone)
        assert.include(message, "There is no time zone")
        assert.isAtMost(message.length, 300)
        assert.isTrue(message.isWellFormed())
      }
      assert.include(yield* messageFor(9), "timezone")
    })
  )
})
