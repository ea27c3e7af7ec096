import { Context, type Effect, Schema } from "effect"
import { tokensMax } from "./Allowance.ts"
import { toolNames } from "./ModelCall.ts"

/**
 * Operations that a plan or a license can permit. `responses`: to send messages; `projects`: to use projects,
 * and name one in a request; `create_projects`: to create projects; `files`: to upload files and refer to
 * them in a request. Users may always list, read and delete their own files.
 */
export const operationNames = ["responses", "projects", "create_projects", "files"] as const
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

/** A field that is left out bounds nothing; an empty list permits nothing. */
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

/**
 * The bounds of a plan for every user of its organizations. Absent bounds have the values of the settings.
 */
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

/** The storage that a plan permits to one user; null: as the settings say. */
export interface PlanStorage {
  readonly plan: string
  readonly files: number | null
  readonly bytes: number | null
}

/** Plans as a file has them; never changed. */
export interface PlanCatalog {
  /** Plans by name, `default` included; null without a catalog: then every plan is without bounds. */
  readonly catalog: ReadonlyMap<string, PlanTerms> | null
  /** Null for a plan that the catalog doesn't have: its organizations may do nothing. */
  readonly termsOf: (plan: string) => PlanTerms | null
}

/** The plans of this installation. Its layer is in plans/PlanCatalog. */
export class Plans extends Context.Service<
  Plans,
  {
    /** The catalog of the start, or of the latest `replace`. */
    readonly current: Effect.Effect<PlanCatalog>
    readonly replace: (catalog: PlanCatalog) => Effect.Effect<void>
  }
>()("parley/domain/Plans") {}

const Most = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

/** The bounds of a license. A field that is left out bounds nothing. */
export const LicenseBounds = Schema.Struct({
  ...grantFields,
  /** Most users that are not disabled. */
  users: Schema.optionalKey(Most),
  organizations: Schema.optionalKey(Most)
})
export type LicenseBounds = typeof LicenseBounds.Type

export interface License {
  readonly id: string
  readonly licensee: string
  readonly issuer: string | null
  readonly issuedAtMillis: number
  readonly beginsAtMillis: number | null
  /** Exclusive; null: never. */
  readonly endsAtMillis: number | null
  readonly bounds: Grants & Pick<LicenseBounds, "users" | "organizations">
}

/** `early` before it begins, `over` once it has ended. */
export type LicenseState = "in_force" | "early" | "over"
