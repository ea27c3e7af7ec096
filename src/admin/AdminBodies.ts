import { Schema, Struct } from "effect"
import { ApiKeyRecord, Email, Organization, type Page, PlanName, User } from "../domain/Account.ts"
import { KeyWindow, LimitChange, WindowState } from "../domain/Allowance.ts"
import { FileId } from "../domain/Ids.ts"
import { KeyLimits } from "../domain/KeyLimits.ts"
import { ModelHealth, ModelSpec, ProviderHealth } from "../domain/Model.ts"
import { LicenseBounds, PlanTerms } from "../domain/Plan.ts"
import { ListedCorpusFile, Project, ProjectMember } from "../domain/Project.ts"

/** A page of a list, each item as its body. */
export const pageBody =
  <Item, Body>(bodyOf: (item: Item) => Body) =>
  ({ data, hasMore }: Page<Item>) => ({ data: data.map(bodyOf), has_more: hasMore })

/** The schema of a page of a list. */
export const listBody = <Item extends Schema.Top>(item: Item) =>
  Schema.Struct({ data: Schema.Array(item), has_more: Schema.Boolean })

/** Hits of one search: the maximum, and the default. */
export const searchHitsMax = 100
export const searchHitsDefault = 10
/** The longest query, in characters. */
export const queryCharactersMax = 10_000

/** The names on the wire for the fields of domain structs. */
export const wireNames = {
  actorEmail: "actor_email",
  actorId: "actor_id",
  actorName: "actor_name",
  addedAt: "added_at",
  cachedInputTokens: "cached_input_tokens",
  cacheWriteInputTokens: "cache_write_input_tokens",
  createdAt: "created_at",
  dailyTokens: "daily_tokens",
  disabledAt: "disabled_at",
  expiresAt: "expires_at",
  hasPassword: "has_password",
  inputTokens: "input_tokens",
  lastSignInAt: "last_sign_in_at",
  lastUsedAt: "last_used_at",
  latencyMillis: "latency_millis",
  monthlyTokens: "monthly_tokens",
  organizationId: "organization_id",
  outputTokens: "output_tokens",
  reasoningTokens: "reasoning_tokens",
  requestsPerMinute: "requests_per_minute",
  resetsAt: "resets_at",
  revokedAt: "revoked_at",
  statusDetails: "status_details",
  targetId: "target_id",
  targetName: "target_name",
  targetType: "target_type",
  tokenizerCounted: "tokenizer_counted",
  toolCalls: "tool_calls",
  updatedAt: "updated_at",
  userId: "user_id"
} as const

export const OrganizationBody = Schema.Struct(Struct.renameKeys(Organization.fields, wireNames))

export const ProjectBody = Schema.Struct(
  Struct.renameKeys(Struct.omit(Project.fields, ["organizationId"]), wireNames)
)

/** The id of a member is that of the user. */
export const memberNames = { ...wireNames, userId: "id" } as const
export const MemberBody = Schema.Struct(Struct.renameKeys(ProjectMember.fields, memberNames))

export const corpusFileNames = { ...wireNames, fileId: "id" } as const
export const CorpusFileBody = Schema.Struct(Struct.renameKeys(ListedCorpusFile.fields, corpusFileNames))
export type CorpusFileBody = typeof CorpusFileBody.Type

export const UserBody = Schema.Struct(Struct.renameKeys(User.fields, wireNames))

export const SearchPayload = Schema.Struct({
  query: Schema.String.check(
    Schema.makeFilter((text) => text.trim() !== "" && text.length <= queryCharactersMax, {
      expected: `1 to ${queryCharactersMax} characters`
    })
  ),
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: searchHitsMax }))),
  /** True lists the terms by which each hit was found. */
  explain: Schema.optionalKey(Schema.Boolean)
})

const HitBody = Schema.Struct({
  file_id: FileId,
  filename: Schema.String,
  /** Offsets into the text of the file, in UTF-16 code units. */
  start: Schema.Int,
  end: Schema.Int,
  page: Schema.NullOr(Schema.Int),
  headings: Schema.Array(Schema.String),
  score: Schema.Finite,
  text: Schema.String
})

const Explanation = Schema.Struct({
  chunks: Schema.Int,
  languages: Schema.Array(Schema.String),
  terms: Schema.Array(
    Schema.Struct({
      term: Schema.String,
      word: Schema.String,
      edits: Schema.Int,
      chunks: Schema.Int,
      idf: Schema.Finite,
      weight: Schema.Finite
    })
  ),
  /** The terms of each hit, in the order of `hits`. */
  contributions: Schema.Array(Schema.Array(Schema.Struct({ term: Schema.String, score: Schema.Finite })))
})

export const FoundBody = Schema.Struct({
  /** Best first. */
  hits: Schema.Array(HitBody),
  nothing: Schema.NullOr(Schema.Literals(["no_files", "still_indexing", "no_match"])),
  explanation: Schema.NullOr(Explanation)
})
export type FoundBody = typeof FoundBody.Type

const Window = Schema.Struct(Struct.renameKeys(WindowState.fields, wireNames))

export const LimitsBody = Schema.Struct({ email: Schema.String, daily: Window, monthly: Window })

const KeyWindowBody = Schema.Struct(Struct.renameKeys(KeyWindow.fields, wireNames))

/** The limits of a key within those of its user; null without the limit. */
const KeyLimitsBody = Schema.Struct({
  daily: Schema.NullOr(KeyWindowBody),
  monthly: Schema.NullOr(KeyWindowBody),
  requests_per_minute: Schema.NullOr(Schema.Int)
})

/** Limits of a key; null: no limit besides those of its user. One that is left out stays as it is. */
export const keyLimitsFields = Struct.map(Struct.renameKeys(KeyLimits.fields, wireNames), Schema.optionalKey)
export const KeyLimitsPayload = Schema.Struct(keyLimitsFields)

const keyFields = Struct.renameKeys(ApiKeyRecord.fields, wireNames)

/** The fields of a key. They have their places on the wire, `status` before the times. */
export const keyBodyFields = {
  ...Struct.pick(keyFields, ["id", "user_id", "email", "name", "hint"]),
  status: Schema.Literals(["active", "expired", "revoked"]),
  ...keyFields,
  limits: KeyLimitsBody
}

/** A limit that is left out stays as it is. */
export const SetLimitsPayload = Schema.Struct({
  email: Email,
  daily: Schema.optionalKey(LimitChange),
  monthly: Schema.optionalKey(LimitChange)
})

export const PlanBody = Schema.Struct({
  name: Schema.String,
  /** False for a plan that organizations have and the catalog doesn't define. */
  defined: Schema.Boolean,
  organizations: Schema.Int,
  /** A term that is left out is not bounded by the plan. */
  terms: PlanTerms
})
export type PlanBody = typeof PlanBody.Type

export const PlansBody = Schema.Struct({
  /** False without a catalog of plans: plans then bound nothing. */
  catalog: Schema.Boolean,
  data: Schema.Array(PlanBody)
})

const InstalledBody = Schema.Struct({
  id: Schema.String,
  licensee: Schema.String,
  issuer: Schema.NullOr(Schema.String),
  state: Schema.Literals(["in_force", "early", "over"]),
  issued_at: Schema.DateTimeUtcFromString,
  begins_at: Schema.NullOr(Schema.DateTimeUtcFromString),
  ends_at: Schema.NullOr(Schema.DateTimeUtcFromString),
  /** A bound that is left out is not bounded by the license. */
  bounds: LicenseBounds
})

export const LicenseBody = Schema.Struct({
  edition: Schema.Literals(["free", "licensed"]),
  license: Schema.NullOr(InstalledBody),
  /** Users that are not disabled. */
  users: Schema.Int,
  organizations: Schema.Int
})
export type LicenseBody = typeof LicenseBody.Type

export const ModelsBody = Schema.Struct({
  data: Schema.Array(ModelSpec),
  /** The recent health of each model, in the same order. */
  health: Schema.Array(ModelHealth),
  providers: Schema.Array(ProviderHealth),
  description: Schema.String
})

/** The files that were read again; null for a file that no setting names. */
export const ReloadedBody = Schema.Struct({
  plans: Schema.NullOr(Schema.Struct({ file: Schema.String, plans: Schema.Int })),
  models: Schema.NullOr(Schema.Struct({ file: Schema.String, models: Schema.Int, providers: Schema.Int }))
})
export type ReloadedBody = typeof ReloadedBody.Type

export const SettingBody = Schema.Struct({
  name: Schema.String,
  value: Schema.NullOr(Schema.String),
  default: Schema.NullOr(Schema.String),
  description: Schema.String
})

export const Check = Schema.Struct({
  name: Schema.String,
  status: Schema.Literals(["ok", "warning", "failed"]),
  detail: Schema.String
})
export type Check = typeof Check.Type

export const textCharactersMax = 200_000
export const documentsMax = 500

export const ExplainPayload = Schema.Struct({
  text: Schema.String.check(Schema.isMaxLength(textCharactersMax)),
  documents: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: documentsMax }))),
  /** The plan of the caller; left out: `default`. */
  plan: Schema.optionalKey(PlanName),
  /** Left out: as the settings and the plan say. */
  tools: Schema.optionalKey(Schema.Boolean),
  max_output_tokens: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0)))
})

const Feature = Schema.Struct({
  name: Schema.String,
  value: Schema.Finite,
  points: Schema.Finite,
  sentence: Schema.String
})

const Candidate = Schema.Struct({
  model: Schema.String,
  provider: Schema.String,
  max_output_tokens: Schema.Int,
  eligible: Schema.Boolean,
  utility: Schema.Finite,
  /** Their sum is the utility. */
  terms: Schema.Struct({
    quality: Schema.Finite,
    price: Schema.Finite,
    latency: Schema.Finite,
    failures: Schema.Finite
  }),
  /** Price in the currency of the catalog; null unless every model that fits has a price. */
  expected_price: Schema.NullOr(Schema.Finite),
  health: ModelHealth,
  reasons: Schema.Array(Schema.String)
})

export const ExplainedBody = Schema.Struct({
  difficulty: Schema.Struct({ score: Schema.Finite, features: Schema.Array(Feature) }),
  balance: Schema.Finite,
  /** The first candidate is asked, the others are fallbacks in their order. */
  candidates: Schema.Array(Candidate),
  excluded: Schema.Array(
    Schema.Struct({ model: Schema.String, provider: Schema.String, reason: Schema.String })
  )
})
export type ExplainedBody = typeof ExplainedBody.Type
