import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, SqlSchema } from "effect/sql"
import type { Organization, Page, User } from "../domain/Account.ts"
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
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { type Counts, makeSeats } from "../plans/License.ts"

/** Plans in use that are listed. */
const plansListedMax = 1_000

const OrganizationRow = Schema.Struct({
  id: OrganizationId,
  name: Schema.String,
  plan: Schema.String,
  createdAt: Schema.DateTimeUtcFromDate
})

const UserRow = Schema.Struct({
  id: UserId,
  email: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String,
  disabledAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  createdAt: Schema.DateTimeUtcFromDate
})

const NewOrganization = Schema.Struct({ id: OrganizationId, name: Schema.String, plan: Schema.String })
const NewUser = Schema.Struct({ id: UserId, email: Schema.String, organization: Schema.String })

/** Organizations and their users. Callers have checked that names and addresses are well-formed. */
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
    readonly plansInUse: Effect.Effect<
      ReadonlyArray<{ readonly plan: string; readonly organizations: number }>,
      DatabaseUnavailable
    >
    /** Oldest first, beginning after `after`. */
    readonly listOrganizations: (
      after?: OrganizationId
    ) => Effect.Effect<Page<Organization>, DatabaseUnavailable>
    readonly findOrganization: (
      name: string
    ) => Effect.Effect<OrganizationId, OrganizationNotFound | DatabaseUnavailable>
    readonly createUser: (
      email: string,
      organization: string
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
    readonly firstUser: Effect.Effect<Option.Option<User>, DatabaseUnavailable>
  }
>()("parley/auth/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const { catalog } = yield* Plans
      const seats = yield* makeSeats

      const knownPlan = (plan: string) =>
        catalog === null || catalog.has(plan)
          ? Effect.void
          : Effect.fail(new PlanNotFound({ plans: [...catalog.keys()] }))

      // A name in use returns no row instead of an error, which would abort a transaction around it.
      const insertOrganization = SqlSchema.findOneOption({
        Request: NewOrganization,
        Result: OrganizationRow,
        execute: ({ id, name, plan }) => sql`
          INSERT INTO organizations (id, name, plan) VALUES (${id}, ${name}, ${plan})
          ON CONFLICT (name) DO NOTHING
          RETURNING id, name, plan, created_at`
      })

      const createOrganization = Effect.fn("Accounts.createOrganization")(function* (
        name: string,
        plan: string
      ) {
        yield* knownPlan(plan)
        const id = OrganizationId.make(yield* random.uuidV7())
        const created = yield* seats.within("organizations", insertOrganization({ id, name, plan }))
        if (Option.isNone(created)) return yield* new OrganizationExists()
        return created.value
      }, orUnavailable)

      const updatePlan = SqlSchema.findOneOption({
        Request: Schema.Struct({ name: Schema.String, plan: Schema.String }),
        Result: OrganizationRow,
        execute: ({ name, plan }) => sql`
          UPDATE organizations SET plan = ${plan} WHERE name = ${name}
          RETURNING id, name, plan, created_at`
      })

      const setPlan = Effect.fn("Accounts.setPlan")(function* (name: string, plan: string) {
        yield* knownPlan(plan)
        const changed = yield* updatePlan({ name, plan })
        if (Option.isNone(changed)) return yield* new OrganizationNotFound()
        return changed.value
      }, orUnavailable)

      const countPlans = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Schema.Struct({ plan: Schema.String, organizations: Schema.Int }),
        execute: () => sql`
          SELECT plan, count(*)::float8 AS organizations FROM organizations
          GROUP BY plan ORDER BY plan COLLATE "C" LIMIT ${plansListedMax}`
      })
      const plansInUse = Effect.suspend(() => countPlans(undefined)).pipe(
        orUnavailable,
        Effect.withSpan("Accounts.plansInUse")
      )

      const selectOrganizations = SqlSchema.findAll({
        Request: OrganizationId,
        Result: OrganizationRow,
        execute: (after) => sql`
          SELECT id, name, plan, created_at FROM organizations
          WHERE id > ${after} ORDER BY id LIMIT ${pageRowsAsked}`
      })

      const listOrganizations = Effect.fn("Accounts.listOrganizations")(function* (after?: OrganizationId) {
        return pageOf(yield* selectOrganizations(after ?? OrganizationId.make(firstId)))
      }, orUnavailable)

      const insertUser = SqlSchema.findOneOption({
        Request: NewUser,
        Result: UserRow,
        execute: ({ id, email, organization }) => sql`
          WITH created AS (
            INSERT INTO users (id, organization_id, email)
            SELECT ${id}, id, ${email} FROM organizations WHERE name = ${organization}
            ON CONFLICT (lower(email)) DO NOTHING
            RETURNING id, organization_id, email, disabled_at, created_at
          )
          SELECT created.*, organizations.name AS organization
          FROM created JOIN organizations ON organizations.id = created.organization_id`
      })

      const selectOrganizationId = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Schema.Struct({ id: OrganizationId }),
        execute: (name) => sql`SELECT id FROM organizations WHERE name = ${name}`
      })

      const findOrganization = Effect.fn("Accounts.findOrganization")(function* (name: string) {
        const found = yield* selectOrganizationId(name)
        if (Option.isNone(found)) return yield* new OrganizationNotFound()
        return found.value.id
      }, orUnavailable)

      const createUser = Effect.fn("Accounts.createUser")(function* (email: string, organization: string) {
        const id = UserId.make(yield* random.uuidV7())
        const created = yield* seats.within("users", insertUser({ id, email, organization }))
        if (Option.isSome(created)) return created.value
        return yield* Option.isSome(yield* selectOrganizationId(organization))
          ? new UserExists()
          : new OrganizationNotFound()
      }, orUnavailable)

      const userColumns = sql.literal(
        "u.id, u.email, u.organization_id, o.name AS organization, u.disabled_at, u.created_at"
      )

      const selectUser = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: UserRow,
        execute: (email) => sql`
          SELECT ${userColumns} FROM users u JOIN organizations o ON o.id = u.organization_id
          WHERE lower(u.email) = lower(${email})`
      })

      const findUserByEmail = Effect.fn("Accounts.findUserByEmail")(function* (email: string) {
        const found = yield* selectUser(email)
        if (Option.isNone(found)) return yield* new UserNotFound()
        return found.value
      }, orUnavailable)

      const disable = SqlSchema.void({
        Request: Schema.Struct({ email: Schema.String, now: Schema.DateTimeUtcFromDate }),
        execute: ({ email, now }) => sql`
          UPDATE users SET disabled_at = coalesce(disabled_at, ${now}) WHERE lower(email) = lower(${email})`
      })

      // Returns no row if nothing changed.
      const enable = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Schema.Struct({ id: UserId }),
        execute: (email) => sql`
          UPDATE users SET disabled_at = NULL
          WHERE lower(email) = lower(${email}) AND disabled_at IS NOT NULL RETURNING id`
      })

      const setDisabled = Effect.fn("Accounts.setDisabled")(function* (email: string, isDisabled: boolean) {
        yield* isDisabled
          ? disable({ email, now: yield* DateTime.now })
          : seats.within("users", enable(email))
        return yield* findUserByEmail(email)
      }, orUnavailable)

      const selectUsers = SqlSchema.findAll({
        Request: UserId,
        Result: UserRow,
        execute: (after) => sql`
          SELECT ${userColumns} FROM users u JOIN organizations o ON o.id = u.organization_id
          WHERE u.id > ${after} ORDER BY u.id LIMIT ${pageRowsAsked}`
      })

      const listUsers = Effect.fn("Accounts.listUsers")(function* (after?: UserId) {
        return pageOf(yield* selectUsers(after ?? UserId.make(firstId)))
      }, orUnavailable)

      const selectFirstUser = SqlSchema.findOneOption({
        Request: Schema.Void,
        Result: UserRow,
        execute: () => sql`
          SELECT ${userColumns} FROM users u JOIN organizations o ON o.id = u.organization_id
          ORDER BY u.disabled_at IS NOT NULL, u.id LIMIT 1`
      })
      const firstUser = Effect.suspend(() => selectFirstUser(undefined)).pipe(
        orUnavailable,
        Effect.withSpan("Accounts.firstUser")
      )

      return Accounts.of({
        createOrganization,
        setPlan,
        plansInUse,
        listOrganizations,
        findOrganization,
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
