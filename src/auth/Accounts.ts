import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Organization, Page, Role, User } from "../domain/Account.ts"
import {
  type DatabaseUnavailable,
  type FilesHeirUnsuitable,
  type LicenseForbids,
  type LastOwner,
  type ProjectsLoseOwner,
  type OrganizationExists,
  type OrganizationNotEmpty,
  type OrganizationNotFound,
  type PlanNotFound,
  type RoleForbids,
  type UserExists,
  UserNotFound
} from "../domain/Errors.ts"
import { type OrganizationId, UserId } from "../domain/Ids.ts"
import { type Counts, makeSeats } from "../plans/License.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"
import { makeOrganizationChanges } from "./OrganizationChanges.ts"
import { makeOrganizations, type PlanRow } from "./Organizations.ts"
import { StaleKeys } from "./StaleKeys.ts"
import { makeUserChanges } from "./UserChanges.ts"
import { type DeletedUser, makeUserDeletion, type PassProjects } from "./UserDeletion.ts"
import { selectUsers, UserRow } from "./UserTable.ts"

/**
 * Organizations and their users, as far as the actor sees them. Others are treated as missing. Callers have
 * checked that names and addresses are well-formed.
 */
export class Accounts extends Context.Service<
  Accounts,
  {
    readonly createOrganization: (
      name: string,
      plan: string
    ) => Effect.Effect<Organization, OrganizationExists | PlanNotFound | LicenseForbids | DatabaseUnavailable>
    /** Takes effect at once here, and in every other process within seconds. */
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
    /** Entries of the audit log keep the name of their time. */
    readonly renameOrganization: (
      name: string,
      newName: string
    ) => Effect.Effect<Organization, OrganizationNotFound | OrganizationExists | DatabaseUnavailable>
    /** Deletes an organization without users and projects, and frees its name. */
    readonly deleteOrganization: (
      name: string
    ) => Effect.Effect<
      Organization,
      OrganizationNotFound | OrganizationNotEmpty | RoleForbids | LastOwner | DatabaseUnavailable
    >
    readonly organizationContents: (
      id: OrganizationId
    ) => Effect.Effect<
      { readonly users: number; readonly projects: number },
      RoleForbids | LastOwner | DatabaseUnavailable
    >
    readonly someUsersOf: (id: OrganizationId) => Effect.Effect<ReadonlyArray<string>, DatabaseUnavailable>
    readonly forgetOrganizations: Effect.Effect<void, DatabaseUnavailable>
    /** The role is `member` if it is left out. */
    readonly createUser: (
      email: string,
      organization: string,
      role?: Role
    ) => Effect.Effect<
      User,
      UserExists | OrganizationNotFound | RoleForbids | LicenseForbids | DatabaseUnavailable
    >
    /**
     * Takes effect at once here, and in every other process within seconds. Disabling ends the user's
     * sessions, and removes the links for the user and those that it created. A second call changes nothing.
     */
    readonly setDisabled: (
      email: string,
      isDisabled: boolean
    ) => Effect.Effect<User, UserNotFound | RoleForbids | LastOwner | LicenseForbids | DatabaseUnavailable>
    /** Ends the same as disabling does, except the session of an actor who changes its own role. */
    readonly setRole: (
      email: string,
      role: Role
    ) => Effect.Effect<User, UserNotFound | RoleForbids | LastOwner | DatabaseUnavailable>
    /** Returns how many ended. */
    readonly endSessions: (
      email: string
    ) => Effect.Effect<number, UserNotFound | RoleForbids | DatabaseUnavailable>
    /**
     * Removes the user's identifying fields and credentials, frees the address and returns the former user.
     * `Erasure` deletes the user's content, by `deletedUsers`: files go to the user of the address `filesTo`,
     * or are deleted. `passProjects` runs in the same transaction.
     */
    readonly deleteUser: (
      email: string,
      filesTo: string | null,
      passProjects: PassProjects
    ) => Effect.Effect<
      User,
      UserNotFound | RoleForbids | LastOwner | FilesHeirUnsuitable | ProjectsLoseOwner | DatabaseUnavailable
    >
    /** Deleted users whose rows are still there, some at a time, beginning after `after`. */
    readonly deletedUsers: (after?: UserId) => Effect.Effect<ReadonlyArray<DeletedUser>, DatabaseUnavailable>
    /** Removes the row of a deleted user to whom nothing refers. */
    readonly forgetUser: (id: UserId) => Effect.Effect<void, DatabaseUnavailable>
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
      const seats = yield* makeSeats
      const select = selectUsers(sql)

      const findUserByEmail = Effect.fn("Accounts.findUserByEmail")(function* (email: string) {
        const found = yield* sql`
          ${select} WHERE lower(u.email) = lower(${email}) ${yield* visible(sql, "u.organization_id")}`.pipe(
          rowAs(UserRow)
        )
        return found ?? (yield* new UserNotFound())
      }, orUnavailable)

      const listUsers = Effect.fn("Accounts.listUsers")(function* (after = UserId.make(firstId)) {
        const found = yield* sql`
          ${select} WHERE u.id > ${after} AND u.deleted_at IS NULL ${yield* visible(sql, "u.organization_id")}
          ORDER BY u.id LIMIT ${pageRowsAsked}`.pipe(rowsAs(UserRow))
        return pageOf(found)
      }, orUnavailable)

      const firstUser = Effect.suspend(
        () => sql`${select} WHERE u.deleted_at IS NULL ORDER BY u.disabled_at IS NOT NULL, u.id LIMIT 1`
      ).pipe(rowAs(UserRow), orUnavailable, Effect.withSpan("Accounts.firstUser"))

      return Accounts.of({
        ...(yield* makeOrganizations),
        ...(yield* makeOrganizationChanges),
        ...(yield* makeUserChanges),
        ...(yield* makeUserDeletion),
        findUserByEmail,
        counts: orUnavailable(seats.counts),
        listUsers,
        firstUser
      })
    })
  ).pipe(Layer.provide(StaleKeys.layer))
}
