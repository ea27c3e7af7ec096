/** The codings that a file may be kept in, the shortest result first. */
export const codings = ["br", "gzip", "identity"] as const
export type Coding = (typeof codings)[number]

const memberPattern = /^([^\s;,]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

/** The weights of the header by coding; a member that isn't valid counts as absent. */
const weightsOf = (header: string): ReadonlyMap<string, number> =>
  new Map(
    header.split(",").flatMap((member): ReadonlyArray<[string, number]> => {
      const [, name, weight = "1"] = memberPattern.exec(member.trim()) ?? []
      return name === undefined ? [] : [[name.toLowerCase(), Number(weight)]]
    })
  )

/** Below every weight that a client can give. */
const unnamedIdentityWeight = 0.0001

/**
 * The available coding that an `Accept-Encoding` header prefers; of equal ones the shorter. Null if it
 * accepts none of them. Source: RFC 9110, section 12.5.3.
 */
export const chooseCoding = (
  header: string | undefined,
  available: ReadonlyMap<Coding, unknown>
): Coding | null => {
  const weights = weightsOf(header ?? "")
  const weightOf = (coding: Coding): number =>
    weights.get(coding) ?? weights.get("*") ?? (coding === "identity" ? unnamedIdentityWeight : 0)
  return codings
    .filter((coding) => available.has(coding) && weightOf(coding) > 0)
    .reduce<Coding | null>(
      (best, coding) => (best === null || weightOf(coding) > weightOf(best) ? coding : best),
      null
    )
}
