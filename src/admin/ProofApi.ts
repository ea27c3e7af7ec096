import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Envelope } from "../api/Middleware.ts"
import { Challenge, KeyName } from "./KeyProof.ts"

class ProofGroup extends HttpApiGroup.make("proof").add(
  HttpApiEndpoint.get("prove", "/proof", {
    query: { challenge: Challenge, key: KeyName },
    /** One for each key of that name, which is at most one unless by chance. */
    success: Schema.Struct({ proofs: Schema.Array(Schema.String) })
  })
) {}

/** Asked before an admin key is sent, so that it isn't sent to the server of another installation. Needs no key. */
export class ProofApi extends HttpApi.make("parley-admin-proof")
  .add(ProofGroup)
  .prefix("/admin")
  .middleware(Envelope) {}
