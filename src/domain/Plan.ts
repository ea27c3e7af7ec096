import { tokensMax } from "./Allowance.ts"
import { toolNames } from "./ModelCall.ts"
import { Context, Schema } from "effect"

/**
 * What a plan or a licence can leave to users or keep from them. `responses` is to ask, `projects` to name a project in a
 * request, `files` to upload files and to refer to them in a request. Listing, reading and deleting one's own files is
 * always allowed, so that nobody's data is locked in.
 */
export const operationNames = ["responses", "projects", "files"] as const
export const Operation = Schema.Literals(operationNames)
export type Operation = typeof Operation.Type

const patternCharactersMax = 200
const patternsMax = 1_000

const isPattern = (text: string): boolean =>
  text !== "" && text.length <= patternCharactersMax && /^[^\p{Cc}\p{Cs}]*$/u.test(text)

/** The id of a model, in which each `*` stands for any run of characters. */
export const ModelPattern = Schema.String.check(
  Schema.makeFilter(isPattern, {
    expected: `1 to ${patternCharactersMax} characters, in which * stands for any run of them`
  })
)

/** What is left to users. A field that is left out bounds nothing; an empty list leaves nothing. */
export const grantFields = {
  operations: Schema.optionalKey(Schema.Array(Operation)),
  models: Schema.optionalKey(Schema.Array(ModelPattern).check(Schema.isMaxLength(patternsMax))),
  tools: Schema.optionalKey(Schema.Array(Schema.Literals(toolNames)))
}
const Grants = Schema.Struct(grantFields)
export type Grants = typeof Grants.Type

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
/** Null: no limit, whatever the settings say. */
const TokenLimit = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: tokensMax })))

/** What a plan bounds, for every user of its organizations; what is left out is as the settings have it. */
export const PlanTerms = Schema.Struct({
  ...grantFields,
  storage: Schema.optionalKey(
    Schema.Struct({ files: Schema.optionalKey(Count), bytes: Schema.optionalKey(Count) })
  ),
  tokens: Schema.optionalKey(
    Schema.Struct({ daily: Schema.optionalKey(TokenLimit), monthly: Schema.optionalKey(TokenLimit) })
  )
})
export type PlanTerms = typeof PlanTerms.Type

/** The storage that a plan leaves to a user, for the messages with the plan's name. */
export interface PlanStorage {
  readonly plan: string
  readonly files: number | null
  readonly bytes: number | null
}

/** The plans of this installation. Its layer is in auth. */
export class Plans extends Context.Service<
  Plans,
  {
    /** By name, `default` included; null where no catalog was given, and every plan is without bounds. */
    readonly catalog: ReadonlyMap<string, PlanTerms> | null
    /** What the plan says; null for a plan that the catalog doesn't have, whose organizations may do nothing. */
    readonly termsOf: (plan: string) => PlanTerms | null
  }
>()("parley/domain/Plans") {}

const Most = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

/** What a licence bounds. A field that is left out bounds nothing. */
export const LicenseBounds = Schema.Struct({
  ...grantFields,
  /** Most users that are not disabled. */
  users: Schema.optionalKey(Most),
  organizations: Schema.optionalKey(Most)
})
export type LicenseBounds = typeof LicenseBounds.Type

/** The licence of an installation. Times are in milliseconds of the epoch. */
export interface License {
  readonly id: string
  readonly licensee: string
  readonly issuer: string | null
  readonly issuedAtMillis: number
  /** Null: from ever on. */
  readonly beginsAtMillis: number | null
  /** The first moment at which it is no longer good; null: never. */
  readonly endsAtMillis: number | null
  readonly bounds: Grants & Pick<LicenseBounds, "users" | "organizations">
}

/** `early` before it begins, `over` once it has ended. */
export type LicenseState = "in_force" | "early" | "over"
