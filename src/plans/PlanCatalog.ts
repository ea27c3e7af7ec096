import { Effect, Layer, Ref, Result, Schema } from "effect"
import { defaultPlan, expected, PlanName } from "../domain/Account.ts"
import { type PlanCatalog, Plans, PlanTerms } from "../domain/Plan.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { FileProblem, problemLine, readJsonFile, shapeProblems } from "../settings/JsonFile.ts"

const plansMax = 1_000

const PlansFile = Schema.Struct({ plans: Schema.Record(Schema.String, PlanTerms) })
const decodePlans = Schema.decodeUnknownResult(PlansFile, { errors: "all", onExcessProperty: "error" })

/** The file of plans can't be used; the service must not start. */
export class PlansInvalid extends Schema.TaggedError<PlansInvalid>()("PlansInvalid", {
  file: Schema.String,
  problems: Schema.NonEmptyArray(FileProblem)
}) {
  override get message(): string {
    const lines = this.problems.map((problem) => `  ${problemLine(problem)}`)
    return `PARLEY_PLANS_FILE ${this.file} can't be used:\n${lines.join("\n")}`
  }
}

const isName = (name: string): boolean => Schema.is(PlanName)(name)
const decodeNames = Schema.decodeUnknownResult(
  Schema.Struct({ plans: Schema.Record(Schema.String, Schema.Unknown) })
)

/** Problems of the names, which are reported even if the terms of the plans have problems too. */
const nameProblems = (given: unknown): ReadonlyArray<FileProblem> => {
  const shape = decodeNames(given)
  if (Result.isFailure(shape)) return []
  const names = Object.keys(shape.success.plans)
  if (names.length > plansMax) return [{ path: "plans", message: `Expected at most ${plansMax} plans` }]
  return names
    .filter((name) => !isName(name))
    .map((name) => ({
      path: `plans.${JSON.stringify(name.slice(0, 60))}`,
      message: `Expected a name of ${expected.plan}`
    }))
}

/**
 * Reports every problem of the file at once. Without an entry of its own, the plan `default` is without
 * bounds.
 */
export const readPlansFile = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<ReadonlyMap<string, PlanTerms>, PlansInvalid> {
  const { given, locate } = yield* Effect.mapError(
    readJsonFile(file),
    (problem) => new PlansInvalid({ file, problems: [problem] })
  )
  const shape = decodePlans(given)
  const names = nameProblems(given)
  if (Result.isFailure(shape)) {
    const [problem, ...more] = shapeProblems(shape.failure.issue)
    const problems = [locate(problem), ...[...more, ...names].map(locate)] as const
    return yield* new PlansInvalid({ file, problems })
  }
  const [first, ...others] = names.map(locate)
  if (first !== undefined) return yield* new PlansInvalid({ file, problems: [first, ...others] })
  return new Map([[defaultPlan, {}], ...Object.entries(shape.success.plans)])
})

/** The terms of the plans; without a catalog, every plan is without bounds. */
export const plansOf = (catalog: ReadonlyMap<string, PlanTerms> | null): PlanCatalog => ({
  catalog,
  termsOf: (plan) => (catalog === null ? {} : (catalog.get(plan) ?? null))
})

/** The plans of the file that the settings name, as it is now. */
export const readPlans = Effect.gen(function* () {
  const { plansFile } = (yield* AppConfig).policy
  return plansOf(plansFile === null ? null : yield* readPlansFile(plansFile))
})

export const plansLayer: Layer.Layer<Plans, PlansInvalid, AppConfig> = Layer.effect(
  Plans,
  Effect.gen(function* () {
    const current = yield* Ref.make(yield* readPlans)
    return Plans.of({ current: Ref.get(current), replace: (catalog) => Ref.set(current, catalog) })
  })
)
