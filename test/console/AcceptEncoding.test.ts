import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { chooseCoding, type Coding, codings } from "../../src/console/AcceptEncoding.ts"

const names = [...codings, "*", "zstd", "BR"] as const

/** A header as its parts: no coding twice, whatever its case. */
const Members = Schema.Array(
  Schema.Struct({
    name: Schema.Literals(names),
    /** In thousandths; null: not given. */
    weight: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))),
    space: Schema.Literals(["", " ", "\t "])
  })
).check(
  Schema.makeFilter(
    (members) => new Set(members.map(({ name }) => name.toLowerCase())).size === members.length
  )
)

const headerOf = (members: typeof Members.Type): string =>
  members
    .map(({ name, space, weight }) =>
      weight === null ? name : `${name}${space};${space}q=${(weight / 1000).toFixed(3)}`
    )
    .join(`,${members[0]?.space ?? ""}`)

/** The weight of a coding; below all others, but not 0, for an identity that isn't named. */
const weightIn = (members: typeof Members.Type, coding: Coding): number => {
  const member =
    members.find(({ name }) => name.toLowerCase() === coding) ?? members.find(({ name }) => name === "*")
  return member === undefined ? (coding === "identity" ? 0.5 : 0) : (member.weight ?? 1000)
}

const available = (...some: ReadonlyArray<Coding>) => new Map(some.map((coding) => [coding, true]))

describe("The coding of a file", () => {
  it.prop(
    "the coding of a file has the highest weight, and is the shorter one of equal weights",
    [Members, Schema.Array(Schema.Literals(codings))],
    ([members, some]) => {
      const chosen = chooseCoding(headerOf(members), available(...some))
      const acceptable = codings.filter((coding) => some.includes(coding) && weightIn(members, coding) > 0)
      const highest = Math.max(...acceptable.map((coding) => weightIn(members, coding)))
      const best = acceptable.find((coding) => weightIn(members, coding) === highest) ?? null
      assert.strictEqual(chosen, best, headerOf(members))
    }
  )

  const all = available(...codings)
  const table: ReadonlyArray<readonly [header: string | undefined, chosen: Coding | null]> = [
    [undefined, "identity"],
    ["", "identity"],
    ["gzip, deflate", "gzip"],
    ["gzip, deflate, br, zstd", "br"],
    ["br;q=0.5, gzip", "gzip"],
    ["br;q=0, gzip;q=0", "identity"],
    ["identity", "identity"],
    ["identity, gzip;q=0.5", "identity"],
    ["*", "br"],
    ["*;q=0", null],
    ["*;q=0, identity", "identity"],
    ["identity;q=0", null],
    ["identity;q=0, gzip;q=0.001", "gzip"],
    ["deflate", "identity"],
    ["GZip;Q=1.000", "gzip"],
    // Malformed parts count as absent.
    ["br;q=2, gzip;q=x, ;;;, br gzip", "identity"]
  ]
  it.each(table)("the coding of a file for `%s` is %s", (header, chosen) => {
    assert.strictEqual(chooseCoding(header, all), chosen)
  })
})
