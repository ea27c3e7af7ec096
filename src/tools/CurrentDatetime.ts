import { DateTime, Effect, Option, Schema } from "effect"
import { defineTool, ToolFailed } from "./Tool.ts"

/** The longest zone name of the IANA database has 32 characters. */
const zoneCharactersMax = 64

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const

interface Zone {
  readonly name: string
  readonly rules: DateTime.TimeZone.Named
}

/** The spelling of a name in the database. That of a link, such as Asia/Kolkata, is a guess. */
const nameOf = (asked: string, canonical: string): string => {
  if (canonical.toLowerCase() === asked.toLowerCase()) return canonical
  if (asked !== asked.toLowerCase() && asked !== asked.toUpperCase()) return asked
  return asked.replaceAll(/[a-z\d+]+/gi, (word) =>
    word.length <= 3 || /\d/.test(word)
      ? word.toUpperCase()
      : `${word.charAt(0).toUpperCase()}${word.slice(1).toLowerCase()}`
  )
}

const findZone = (asked: string): Option.Option<Zone> => {
  const id = asked.trim().replaceAll(/\s+/g, "_")
  // An offset isn't a zone: it has no summer time.
  if (id.length > zoneCharactersMax || /^[+-]/.test(id)) return Option.none()
  // Effect caches a zone under each name that it gets: names must not differ by case alone.
  return Option.map(DateTime.zoneMakeNamed(id.toLowerCase()), (rules) => ({
    name: nameOf(id, rules.id),
    rules
  }))
}

/** Zones with this city: Asia/Tokyo for "tokyo". */
const similarZones = (asked: string): ReadonlyArray<string> => {
  const city = asked.trim().replaceAll(/\s+/g, "_").split("/").at(-1)?.toLowerCase()
  return Intl.supportedValuesOf("timeZone").filter((name) => name.toLowerCase().split("/").at(-1) === city)
}

const unknownZone = (asked: string): ToolFailed => {
  const [similar = "Asia/Tokyo"] = similarZones(asked)
  const shown = JSON.stringify(asked.slice(0, zoneCharactersMax).toWellFormed())
  return new ToolFailed({
    message: `There is no time zone ${shown}. Name a zone of the IANA database, such as ${similar}, or leave it out for UTC.`
  })
}

const answerOf = (now: DateTime.Utc, { name, rules }: Zone): string => {
  // The second begins before the zone is set: in a zone, the hour that summer time repeats would become the
  // first of the two.
  const second = DateTime.setZone(DateTime.startOf(now, "second"), rules)
  const { weekDay } = DateTime.toParts(second)
  return JSON.stringify({
    datetime: DateTime.formatIsoOffset(second).replace(".000", ""),
    weekday: weekdays[weekDay],
    timezone: name,
    unix_seconds: Math.floor(DateTime.toEpochMillis(now) / 1000)
  })
}

/** The name of a zone is matched without case; an empty one means none. */
export const currentDatetime = defineTool({
  name: "current_datetime",
  description:
    "The current date, time and weekday, in UTC or in the time zone of a place. The time is ISO 8601 with its offset from UTC.",
  parameters: Schema.Struct({
    timezone: Schema.optionalKey(
      Schema.NullOr(Schema.String).annotate({
        description: "An IANA time zone, such as Asia/Tokyo or America/New_York. UTC when left out."
      })
    )
  }),
  run: Effect.fnUntraced(function* ({ timezone }) {
    const asked = timezone == null || timezone.trim() === "" ? "UTC" : timezone
    const zone = yield* Effect.mapError(Effect.fromOption(findZone(asked)), () => unknownZone(asked))
    return { text: answerOf(yield* DateTime.now, zone) }
  })
})
