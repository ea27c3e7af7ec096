import { Schema, Struct } from "effect"
import { AccountName, Email } from "../domain/Account.ts"
import { CalendarDay, ReportBy, UsageSums } from "../domain/Allowance.ts"
import { ApiKeyId } from "../domain/Ids.ts"
import { wireNames } from "./AdminBodies.ts"

/** The query and the body of a report of usage. */

/** A query has at most one of the first three fields; without them it asks for the usage of all users. */
export const usageQuery = {
  email: Schema.optionalKey(Email),
  organization: Schema.optionalKey(AccountName),
  key_id: Schema.optionalKey(ApiKeyId),
  by: Schema.optionalKey(ReportBy),
  /** The first day and the last one, UTC; without them the last 30 days. */
  since: Schema.optionalKey(CalendarDay),
  until: Schema.optionalKey(CalendarDay)
}

const sums = {
  ...Struct.renameKeys(UsageSums.fields, wireNames),
  /**
   * The cost by the present prices of the catalog, for the requests whose model has one; left out where none
   * has.
   */
  cost: Schema.optionalKey(Schema.Finite)
}

export const UsageBody = Schema.Struct({
  since: Schema.String,
  until: Schema.String,
  days: Schema.Int,
  data: Schema.Array(
    Schema.Struct({
      /**
       * The day, the name of the model or of the organization, the e-mail address of the user, or the id of
       * the key.
       */
      label: Schema.String,
      ...sums,
      /** Null unless the report is split by key. */
      key: Schema.NullOr(Schema.Struct({ name: Schema.String, hint: Schema.String, owner: Schema.String }))
    })
  ),
  /** The sums of all requests, including those of lines beyond the limit. */
  total: Schema.Struct(sums)
})
