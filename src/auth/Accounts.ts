import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { type Organization, type Page, Role, type User } from "../domain/Account.ts"
import { aboutUser, type AuditEntry } from "../domain/AuditEntry.ts"
import {
  type DatabaseUnavailable,
  type LicenseForbids,
  OrganizationExists,
  OrganizationNotFound,
  PlanNotFound,
  UserExists,
  UserNotFound
} from "../domain/Errors.ts"
import { OrganizationId, UserId } from "../domain/Ids.ts"
import { Plans } from "../domain/Plan.ts"
import { type Counts, makeSeats } from "../plans/License.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"

/** Plans in use that are listed. */
const plansListedMax = 1_000

const OrganizationRow = Schema.Struct({
  id: OrganizationId,
  name: Schema.String,
  plan: Schema.String,
  createdAt: Schema.DateTimeUtcFromDate
})

const ChangedPlanRow = Schema.Struct({ ...OrganizationRow.fields, oldPlan: Schema.String })

const UserRow = Schema.Struct({
  id: UserId,
  email: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String,
  role: Role,
  disabledAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  createdAt: Schema.DateTimeUtcFromDate
})

const PlanRow = Schema.Struct({ plan: Schema.String, organizations: Schema.Int })
const OrganizationIdRow = Schema.Struct({ id: OrganizationId })

/** The target and the organization of an entry of the audit log. */
const aboutOrganization = ({ id, name }: Organization) => ({
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

/** The methods on organizations. */
const makeOrganizations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const { catalog } = yield* Plans
  const seats = yield* makeSeats
  const audit = yield* makeAuditRecorder

  const knownPlan = (plan: string) =>
    catalog === null || catalog.has(plan)
      ? Effect.void
      : Effect.fail(new PlanNotFound({ plans: [...catalog.keys()] }))

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
    return organization
  }, orUnavailable)

  const plansInUse = Effect.suspend(
    () => sql`
      SELECT plan, count(*)::float8 AS organizations FROM organizations
      GROUP BY plan ORDER BY plan COLLATE "C" LIMIT ${plansListedMax}`
  ).pipe(rowsAs(PlanRow), orUnavailable, Effect.withSpan("Accounts.plansInUse"))

  const listOrganizations = Effect.fn("Accounts.listOrganizations")(function* (
    after = OrganizationId.make(firstId)
  ) {
    const found = yield* sql`
      SELECT ${organizationColumns} FROM organizations
      WHERE id > ${after} ${yield* visible(sql, "id")} ORDER BY id LIMIT ${pageRowsAsked}`.pipe(
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

/**
 * Organizations and their users, as far as the actor sees them: the rest answers as what doesn't exist. Callers have checked that names
 * and addresses are well-formed.
 */
export class Accounts extends Context.Service<
  Accounts,
  {
    readonly createOrganization: (
      name: string,
      plan: string
    ) => Effect.Effect<Organization, OrganizationExists | PlanNotFound | LicenseForbids | DatabaseUnavailable>
    /** Takes effect in every process within seconds. */
    readonly setPlan: (
      name: string,
      plan: string
    ) => Effect.Effect<Organization, OrganizationNotFound | PlanNotFound | DatabaseUnavailable>
    /** Ordered by name, each with the number of its organizations. */
    readonly plansInUse: Effect.Effect<ReadonlyArray<typeof PlanRow.Type>, DatabaseUnavailable>
    /** Oldest first, beginning after `after`. */
    readonly listOrganizations: (
      after?: OrganizationId
    ) => Effect.Effect<Page<Organization>, DatabaseUnavailable>
    readonly findOrganization: (
      name: string
    ) => Effect.Effect<OrganizationId, OrganizationNotFound | DatabaseUnavailable>
    /** The role is `member` if it is left out. */
    readonly createUser: (
      email: string,
      organization: string,
      role?: Role
    ) => Effect.Effect<User, UserExists | OrganizationNotFound | LicenseForbids | DatabaseUnavailable>
    /** Takes effect in every process within seconds. A second call changes nothing. */
    readonly setDisabled: (
      email: string,
      isDisabled: boolean
    ) => Effect.Effect<User, UserNotFound | LicenseForbids | DatabaseUnavailable>
    /** The users and organizations that a license counts. */
    readonly counts: Effect.Effect<Counts, DatabaseUnavailable>
    /** The case of the address doesn't matter. */
    readonly findUserByEmail: (email: string) => Effect.Effect<User, UserNotFound | DatabaseUnavailable>
    /** Oldest first, beginning after `after`. */
    readonly listUsers: (after?: UserId) => Effect.Effect<Page<User>, DatabaseUnavailable>
    /** The oldest user, if possible one that isn't disabled. */
    readonly firstUser: Effect.Effect<User | undefined, DatabaseUnavailable>
  }
>()("parley/auth/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const seats = yield* makeSeats
      const audit = yield* makeAuditRecorder
      const organizations = yield* makeOrganizations

      /** What was done to a user, unless nothing was. */
      const entry = (action: AuditEntry["action"]) => (user: User | undefined) =>
        user === undefined ? undefined : { action, ...aboutUser(user) }

      const createUser = Effect.fn("Accounts.createUser")(function* (
        email: string,
        organization: string,
        role: Role = "member"
      ) {
        const id = UserId.make(yield* random.uuidV7())
        const insert = sql`
          WITH created AS (
            INSERT INTO users (id, organization_id, email, role)
            SELECT ${id}, id, ${email}, ${role} FROM organizations WHERE name = ${organization}
            ON CONFLICT (lower(email)) DO NOTHING
            RETURNING id, organization_id, email, role, disabled_at, created_at
          )
          SELECT created.*, organizations.name AS organization
          FROM created JOIN organizations ON organizations.id = created.organization_id`
        const recorded = audit.recording(rowAs(UserRow)(insert), entry("user.create"))
        const created = yield* seats.within("users", recorded)
        if (created !== undefined) return created
        // Without its organization, no user is inserted either.
        yield* organizations.findOrganization(organization)
        return yield* new UserExists()
      }, orUnavailable)

      const userColumns = sql.literal(
        "u.id, u.email, u.organization_id, o.name AS organization, u.role, u.disabled_at, u.created_at"
      )
      const selectUsers = sql`
        SELECT ${userColumns}
        FROM users u JOIN organizations o ON o.id = u.organization_id`

      const findUserByEmail = Effect.fn("Accounts.findUserByEmail")(function* (email: string) {
        const found = yield* sql`
          ${selectUsers} WHERE lower(u.email) = lower(${email}) ${yield* visible(sql, "u.organization_id")}`.pipe(
          rowAs(UserRow)
        )
        return found ?? (yield* new UserNotFound())
      }, orUnavailable)

      const setDisabled = Effect.fn("Accounts.setDisabled")(function* (email: string, isDisabled: boolean) {
        const now = DateTime.toDateUtc(yield* DateTime.now)
        // Returns no row if nothing changed.
        const change = sql`
          UPDATE users u SET disabled_at = ${isDisabled ? now : null} FROM organizations o
          WHERE o.id = u.organization_id AND lower(u.email) = lower(${email})
            AND (u.disabled_at IS NULL) = ${isDisabled}::boolean ${yield* visible(sql, "u.organization_id")}
          RETURNING ${userColumns}`.pipe(rowAs(UserRow))
        const recorded = audit.recording(change, entry(isDisabled ? "user.disable" : "user.enable"))
        const changed = yield* isDisabled ? recorded : seats.within("users", recorded)
        return changed ?? (yield* findUserByEmail(email))
      }, orUnavailable)

      const listUsers = Effect.fn("Accounts.listUsers")(function* (after = UserId.make(firstId)) {
        const found = yield* sql`
          ${selectUsers} WHERE u.id > ${after} ${yield* visible(sql, "u.organization_id")}
          ORDER BY u.id LIMIT ${pageRowsAsked}`.pipe(rowsAs(UserRow))
        return pageOf(found)
      }, orUnavailable)

      const firstUser = Effect.suspend(
        () => sql`${selectUsers} ORDER BY u.disabled_at IS NOT NULL, u.id LIMIT 1`
      ).pipe(rowAs(UserRow), orUnavailable, Effect.withSpan("Accounts.firstUser"))

      return Accounts.of({
        ...organizations,
        createUser,
        findUserByEmail,
        setDisabled,
        counts: orUnavailable(seats.counts),
        listUsers,
        firstUser
      })
    })
  )
}
