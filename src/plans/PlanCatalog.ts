import { Effect, Layer, Result, Schema } from "effect"
import { AppConfig } from "../settings/AppConfig.ts"
import { defaultPlan, expected, PlanName } from "../domain/Account.ts"
import { Plans, PlanTerms } from "../domain/Plan.ts"
import { FileProblem, problemLine, readJsonFile, shapeProblems } from "../settings/JsonFile.ts"

const plansMax = 1_000

const PlansFile = Schema.Struct({ plans: Schema.Record(Schema.String, PlanTerms) })
const decodePlans = Schema.decodeUnknownResult(PlansFile, { errors: "all", onExcessProperty: "error" })

/** The plans can't be known as they are configured; the service must not start. */
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

/** What is wrong with the names, also where something else is wrong with the plans. */
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

/** Reads and checks the file of plans. Every problem is told at once. `default` is without bounds where the file has none. */
export const readPlansFile = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<ReadonlyMap<string, PlanTerms>, PlansInvalid> {
  const given = yield* Effect.mapError(
    readJsonFile(file),
    (problem) => new PlansInvalid({ file, problems: [problem] })
  )
  const shape = decodePlans(given)
  const names = nameProblems(given)
  if (Result.isFailure(shape)) {
    return yield* new PlansInvalid({ file, problems: [...shapeProblems(shape.failure.issue), ...names] })
  }
  const [first, ...others] = names
  if (first !== undefined) return yield* new PlansInvalid({ file, problems: [first, ...others] })
  return new Map([[defaultPlan, {}], ...Object.entries(shape.success.plans)])
})

/** The plans of a catalog, or of an installation without one. */
export const plansOf = (catalog: ReadonlyMap<string, PlanTerms> | null): Plans["Service"] => ({
  catalog,
  termsOf: (plan) => (catalog === null ? {} : (catalog.get(plan) ?? null))
})

/** The plans that the settings name. */
export const plansLayer: Layer.Layer<Plans, PlansInvalid, AppConfig> = Layer.effect(
  Plans,
  Effect.gen(function* () {
    const { plansFile } = (yield* AppConfig).policy
    return Plans.of(plansOf(plansFile === null ? null : yield* readPlansFile(plansFile)))
  })
)
