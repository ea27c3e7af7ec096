import { Schema, Struct } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Conflict } from "../api/ErrorEnvelope.ts"
import { BoundedBody } from "../api/Middleware.ts"
import { cursor } from "../api/OperationDescription.ts"
import { AccountName } from "../domain/Account.ts"
import { AdminKeyId } from "../domain/Ids.ts"
import { keyBodyFields, listBody } from "./AdminBodies.ts"

const day = 86_400

/** A key that should last longer needs no expiry. */
export const expirySecondsMax = 3_650 * day

/** Left out or null: the key is valid until it is revoked. */
export const ExpirySeconds = Schema.optionalKey(
  Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: expirySecondsMax })))
)

const keyFields = { ...Struct.omit(keyBodyFields, ["user_id", "email", "limits"]), id: AdminKeyId }
const AdminKeyBody = Schema.Struct(keyFields)

/** A new key, which is shown here and never again. */
const NewAdminKeyBody = Schema.Struct({ ...keyFields, key: Schema.String })

/** Keys of operators. They are for the holders of admin keys alone, so the endpoints have no `Access`. */
export class AdminKeysGroup extends HttpApiGroup.make("adminKeys")
  .add(
    HttpApiEndpoint.get("list", "/admin-keys", {
      query: { after: cursor(AdminKeyId) },
      success: listBody(AdminKeyBody)
    }),
    HttpApiEndpoint.post("create", "/admin-keys", {
      payload: Schema.Struct({ name: AccountName, expires_in_seconds: ExpirySeconds }),
      success: NewAdminKeyBody,
      error: Conflict
    }),
    HttpApiEndpoint.post("revoke", "/admin-keys/revoke", {
      payload: Schema.Struct({ name: AccountName }),
      success: AdminKeyBody
    })
  )
  .middleware(BoundedBody) {}
