import { Effect, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Organization } from "../domain/Account.ts"
import type { AuditEntry } from "../domain/AuditEntry.ts"
import { OrganizationExists, OrganizationNotFound, PlanNotFound } from "../domain/Errors.ts"
import { OrganizationId } from "../domain/Ids.ts"
import { Plans } from "../domain/Plan.ts"
import { makeSeats } from "../plans/License.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"
import { StaleKeys } from "./StaleKeys.ts"

/** Plans in use that are listed. */
const plansListedMax = 1_000

export const OrganizationRow = Schema.Struct({
  id: OrganizationId,
  name: Schema.String,
  plan: Schema.String,
  createdAt: Schema.DateTimeUtcFromDate
})

const ChangedPlanRow = Schema.Struct({ ...OrganizationRow.fields, oldPlan: Schema.String })

export const PlanRow = Schema.Struct({ plan: Schema.String, organizations: Schema.Int })
const OrganizationIdRow = Schema.Struct({ id: OrganizationId })

/** The target and the organization of an entry of the audit log. */
export const aboutOrganization = ({ id, name }: Organization) => ({
  target: { id, name },
  organization: { id, name }
})

const planEntry = (changed: typeof ChangedPlanRow.Type | undefined): AuditEntry | undefined =>
  changed === undefined || changed.oldPlan === changed.plan
    ? undefined
    : {
        action: "organization.plan",
        ...aboutOrganization(changed),
        details: { plan: { old: changed.oldPlan, new: changed.plan } }
      }

const createdEntry = (created: Organization | undefined): AuditEntry | undefined =>
  created && {
    action: "organization.create",
    ...aboutOrganization(created),
    details: { plan: created.plan }
  }

/** The methods of Accounts on organizations. */
export const makeOrganizations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const plans = yield* Plans
  const seats = yield* makeSeats
  const audit = yield* makeAuditRecorder
  const stale = yield* StaleKeys

  const knownPlan = Effect.fnUntraced(function* (plan: string) {
    const { catalog } = yield* plans.current
    if (catalog === null || catalog.has(plan)) return
    return yield* new PlanNotFound({ plans: [...catalog.keys()] })
  })

  const organizationColumns = sql.literal("id, name, plan, created_at")

  const createOrganization = Effect.fn("Accounts.createOrganization")(function* (name: string, plan: string) {
    yield* knownPlan(plan)
    const id = OrganizationId.make(yield* random.uuidV7())
    // A name in use returns no row instead of an error, which would abort a transaction around it.
    const insert = sql`
      INSERT INTO organizations (id, name, plan) VALUES (${id}, ${name}, ${plan})
      ON CONFLICT (name) DO NOTHING
      RETURNING ${organizationColumns}`
    const recorded = audit.recording(rowAs(OrganizationRow)(insert), createdEntry)
    const created = yield* seats.within("organizations", recorded)
    return created ?? (yield* new OrganizationExists())
  }, orUnavailable)

  const setPlan = Effect.fn("Accounts.setPlan")(function* (name: string, plan: string) {
    yield* knownPlan(plan)
    const update = sql`
      UPDATE organizations o SET plan = ${plan}
      FROM (SELECT id, plan FROM organizations WHERE name = ${name} FOR NO KEY UPDATE) AS old WHERE o.id = old.id
      RETURNING o.id, o.name, o.plan, o.created_at, old.plan AS old_plan`.pipe(rowAs(ChangedPlanRow))
    const changed = yield* audit.recording(update, planEntry)
    if (changed === undefined) return yield* new OrganizationNotFound()
    const { oldPlan: _, ...organization } = changed
    yield* stale.mark(organization.id)
    return organization
  }, orUnavailable)

  const plansInUse = Effect.suspend(
    () => sql`
      SELECT plan, count(*)::float8 AS organizations FROM organizations
      WHERE deleted_at IS NULL GROUP BY plan ORDER BY plan COLLATE "C" LIMIT ${plansListedMax}`
  ).pipe(rowsAs(PlanRow), orUnavailable, Effect.withSpan("Accounts.plansInUse"))

  const listOrganizations = Effect.fn("Accounts.listOrganizations")(function* (
    after = OrganizationId.make(firstId)
  ) {
    const found = yield* sql`
      SELECT ${organizationColumns} FROM organizations
      WHERE id > ${after} AND deleted_at IS NULL ${yield* visible(sql, "id")} ORDER BY id LIMIT ${pageRowsAsked}`.pipe(
      rowsAs(OrganizationRow)
    )
    return pageOf(found)
  }, orUnavailable)

  const findOrganization = Effect.fn("Accounts.findOrganization")(function* (name: string) {
    const found = yield* sql`
      SELECT id FROM organizations WHERE name = ${name} ${yield* visible(sql, "id")}`.pipe(
      rowAs(OrganizationIdRow)
    )
    return found === undefined ? yield* new OrganizationNotFound() : found.id
  }, orUnavailable)

  return { createOrganization, setPlan, plansInUse, listOrganizations, findOrganization }
})
